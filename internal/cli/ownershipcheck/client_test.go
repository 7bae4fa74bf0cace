package ownershipcheck_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
	"holdfast.dev/holdfast/ownership"
)

// client is a client with a Checker. It keeps the warnings that it receives.
type client struct {
	kubernetes.Interface
	checker *ownershipcheck.Checker

	mu       sync.Mutex
	received []string
	// sent holds the methods and paths of the requests that reached the server.
	sent []string
}

// newClient returns a client that sends its requests in the name of a command.
func newClient(t testing.TB, config *rest.Config, command string) *client {
	t.Helper()
	c := &client{checker: ownershipcheck.New()}
	config = rest.CopyConfig(config)
	config.WarningHandler = c
	// Commands use JSON, not protobuf.
	config.ContentType = "application/json"
	config.UserAgent = "holdfast/v1 (linux/amd64)"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			c.mu.Lock()
			c.sent = append(c.sent, req.Method+" "+req.URL.RequestURI())
			c.mu.Unlock()
			return next.RoundTrip(req)
		})
	})
	c.checker.Wrap(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req.Header.Set("Kubectl-Command", command)
			return next.RoundTrip(req)
		})
	})
	c.Interface = kubernetes.NewForConfigOrDie(config)
	return c
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// HandleWarningHeader implements rest.WarningHandler.
func (c *client) HandleWarningHeader(_ int, _ string, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received = append(c.received, text)
}

// warnings returns the warnings since the last call.
func (c *client) warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	received := c.received
	c.received = nil
	return received
}

// requests returns the requests since the last call.
func (c *client) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.sent
	c.sent = nil
	return sent
}

// patch sends a merge patch of a ConfigMap.
func (c *client) patch(t testing.TB, name, body, manager string) error {
	t.Helper()
	options := metav1.PatchOptions{FieldManager: manager}
	_, err := c.CoreV1().ConfigMaps("default").Patch(t.Context(), name, types.MergePatchType, []byte(body), options)
	return err
}

// uncheckedServer starts a server that does not check ownership, like any server other than
// Holdfast.
func uncheckedServer(t testing.TB) *rest.Config {
	t.Helper()
	return servertest.Start(t, apiserver.Config{Ownership: "off"}).Config(t)
}

// config is the last-applied configuration of the ConfigMap NAME.
const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"name":"NAME","namespace":"default"},"data":{"a":"1"}}`

// applied creates a ConfigMap with a last-applied configuration, without a Checker.
func applied(t testing.TB, server *rest.Config, name, text string) *corev1.ConfigMap {
	t.Helper()
	annotations := map[string]string{ownership.LastApplied: strings.ReplaceAll(text, "NAME", name)}
	created, err := kubernetes.NewForConfigOrDie(server).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Data:       map[string]string{"a": "1"},
	}, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// grant grants a subject verbs on ConfigMaps.
func grant(t testing.TB, admin kubernetes.Interface, role string, subject rbacv1.Subject, verbs ...string) {
	t.Helper()
	rights := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
	}
	if _, err := admin.RbacV1().Roles("default").Create(t.Context(), rights, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	}
	if _, err := admin.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
