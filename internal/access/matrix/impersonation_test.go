package matrix_test

import (
	"net/http"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestImpersonation checks that a user without the verb impersonate cannot impersonate
// others.
func TestImpersonation(t *testing.T) {
	t.Parallel()
	s := newSetup(t, apiserver.Config{})
	admin := map[string]string{"Impersonate-User": "holdfast-admin", "Impersonate-Group": "system:masters"}
	for _, name := range []string{"norole", "view", "edit", "admin", "node", "robot"} {
		for other, headers := range map[string]map[string]string{
			"an administrator":                       admin,
			"a node":                                 {"Impersonate-User": "system:node:n2", "Impersonate-Group": "system:nodes"},
			"another user":                           {"Impersonate-User": "kim"},
			"a service account of another namespace": {"Impersonate-User": "system:serviceaccount:kube-system:default"},
		} {
			got := s.users[name].withHeaders(headers).send(t, http.MethodPost, selfReviewPath, "{}")
			if got.status != http.StatusForbidden {
				t.Errorf("%s impersonates %s: %d %s", name, other, got.status, got.body)
			}
		}
	}
	got := s.users["anonymous"].withHeaders(admin).send(t, http.MethodPost, selfReviewPath, "{}")
	if got.status != http.StatusUnauthorized {
		t.Errorf("anonymous: %d %s", got.status, got.body)
	}
	// As in Kubernetes, the role edit allows to impersonate the service accounts of the
	// namespace.
	robot := map[string]string{"Impersonate-User": "system:serviceaccount:shop:robot"}
	waittest.Until(t, "the editor impersonates a service account of its namespace", func() bool {
		got := s.users["edit"].withHeaders(robot).send(t, http.MethodPost, selfReviewPath, "{}")
		return got.status == http.StatusCreated && strings.Contains(got.body, `"username":"system:serviceaccount:shop:robot"`)
	})
}
