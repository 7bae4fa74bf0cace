package matrix_test

import (
	"net/http"
	"testing"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestAnonymous checks what a client without a credential may do in each mode of
// --anonymous-auth.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	const configMaps = "/api/v1/namespaces/default/configmaps"
	paths := []string{"/healthz", "/livez", "/readyz", "/readyz/etcd", "/version", "/api", "/metrics", configMaps}
	for mode, want := range map[access.Anonymous][]int{
		access.AnonymousHealth: {200, 200, 200, 401, 401, 401, 401, 401},
		access.AnonymousNever:  {401, 401, 401, 401, 401, 401, 401, 401},
		access.AnonymousAlways: {200, 200, 200, 403, 200, 403, 403, 403},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t, apiserver.Config{Anonymous: mode})
			anonymous := newAnonymousUser(t, server)
			for i, path := range paths {
				if got := anonymous.send(t, http.MethodGet, path, ""); got.status != want[i] {
					t.Errorf("%s: got %d, want %d: %s", path, got.status, want[i], got.body)
				}
			}
			// A request with an invalid token does not count as anonymous.
			invalid := newTokenUser(t, server, "invalid", "no-such-token")
			if got := invalid.send(t, http.MethodGet, "/healthz", ""); got.status != http.StatusUnauthorized {
				t.Errorf("invalid token: %d %s", got.status, got.body)
			}
			// Bind the role view to anonymous clients. It has an effect only in the mode
			// that accepts them on all paths. The binding of nick is created last: when it
			// works, so does the first one.
			root := newUser(t, "root", server.Config(t))
			const bindings = rbacPath + "/namespaces/default/rolebindings"
			root.must(t, http.MethodPost, bindings,
				toJSON(t, binding("all", "ClusterRole", "view", "{kind: Group, name: 'system:unauthenticated'}")))
			root.must(t, http.MethodPost, bindings, toJSON(t, binding("known", "ClusterRole", "view", "{kind: User, name: nick}")))
			nick := newCertificateUser(t, server, "nick", "nick")
			waittest.Until(t, "the bindings have an effect", func() bool {
				return nick.send(t, http.MethodGet, configMaps, "").status == http.StatusOK
			})
			want := http.StatusUnauthorized
			if mode == access.AnonymousAlways {
				want = http.StatusOK
			}
			if got := anonymous.send(t, http.MethodGet, configMaps, ""); got.status != want {
				t.Errorf("with a role: got %d, want %d", got.status, want)
			}
		})
	}
}
