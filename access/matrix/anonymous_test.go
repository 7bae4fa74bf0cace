package matrix_test

import (
	"net/http"
	"testing"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

// What somebody without a credential reaches is what --anonymous-auth says.
func TestAnonymous(t *testing.T) {
	paths := []string{"/healthz", "/livez", "/readyz", "/readyz/etcd", "/version", "/api", "/metrics", "/api/v1/namespaces/default/configmaps"}
	for mode, want := range map[access.Anonymous][]int{
		access.AnonymousHealth: {200, 200, 200, 401, 401, 401, 401, 401},
		access.AnonymousNever:  {401, 401, 401, 401, 401, 401, 401, 401},
		access.AnonymousAlways: {200, 200, 200, 403, 200, 403, 403, 403},
	} {
		t.Run(string(mode), func(t *testing.T) {
			server := servertest.Start(t, apiserver.Config{Anonymous: mode})
			nobody := anonymous(t, server)
			for i, path := range paths {
				if got := nobody.ask(t, http.MethodGet, path, ""); got.status != want[i] {
					t.Errorf("%s: got %d, want %d: %s", path, got.status, want[i], got.body)
				}
			}
			// A bad credential is not taken for none.
			if got := bearer(t, server, "stranger", "no-such-token").ask(t, http.MethodGet, "/healthz", ""); got.status != http.StatusUnauthorized {
				t.Errorf("a bad token: %d %s", got.status, got.body)
			}
			// Roles count for who is let in as system:anonymous, and for nobody else.
			root := newUser(t, "root", server.Config(t))
			root.must(t, http.MethodPost, roles+"/namespaces/default/rolebindings", toJSON(t, binding("all", "ClusterRole", "view", "{kind: Group, name: 'system:unauthenticated'}")))
			root.must(t, http.MethodPost, roles+"/namespaces/default/rolebindings", toJSON(t, binding("known", "ClusterRole", "view", "{kind: User, name: nick}")))
			nick := certified(t, server, "nick", "nick")
			servertest.Eventually(t, "the bindings count", func() bool {
				return nick.ask(t, http.MethodGet, "/api/v1/namespaces/default/configmaps", "").status == http.StatusOK
			})
			after := http.StatusUnauthorized
			if mode == access.AnonymousAlways {
				after = http.StatusOK
			}
			if got := nobody.ask(t, http.MethodGet, "/api/v1/namespaces/default/configmaps", ""); got.status != after {
				t.Errorf("with a role: got %d, want %d", got.status, after)
			}
		})
	}
}
