package console_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/waittest"
)

// testViewer checks that the service account of the guide may read what the page shows, and no Secret.
func testViewer(t *testing.T, s server) {
	text, err := os.ReadFile("../../../examples/console-viewer.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	for i, path := range []string{
		"/api/v1/namespaces/default/serviceaccounts", rbac + "clusterroles", rbac + "clusterrolebindings", rbac + "clusterrolebindings",
	} {
		s.create(t, path, documents[i])
	}
	answer, err := s.Client(t).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "viewer",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	code := func(path string) int {
		return s.send(t, s.anonymous, http.MethodGet, path, "Accept", console.MediaType, "Authorization", "Bearer "+answer.Status.Token).code
	}
	const missing = "viewed"
	for _, place := range []string{
		"/api/v1/namespaces/default/configmaps/", "/api/v1/namespaces/default/pods/", "/apis/apps/v1/namespaces/default/deployments/",
		"/api/v1/namespaces/", "/api/v1/nodes/", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/",
		"/apis/guard.holdfast.dev/v1beta1/immutabilitypolicies/", kudo + "instances/", kudo + "operatorversions/",
	} {
		// No object has the name: a user that may get it learns that.
		waittest.Until(t, "the viewer may get "+place, func() bool { return code(place+missing) == http.StatusNotFound })
	}
	if got := code("/api/v1/namespaces/default/secrets/" + missing); got != http.StatusForbidden {
		t.Errorf("a Secret: %d, want 403", got)
	}
}
