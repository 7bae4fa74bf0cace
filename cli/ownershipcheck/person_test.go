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

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/cli/ownershipcheck"
	"holdfast.dev/holdfast/ownership"
)

// person runs one command through a guard and keeps what it is told.
type person struct {
	kubernetes.Interface
	checker *ownershipcheck.Checker

	mu   sync.Mutex
	said []string
	// sent are the methods and paths of what left for the server.
	sent []string
}

// running is a person who runs a command.
func running(t testing.TB, config *rest.Config, command string) *person {
	t.Helper()
	p := &person{checker: ownershipcheck.New()}
	config = rest.CopyConfig(config)
	config.WarningHandler = p
	// As commands do, and not in protobuf.
	config.ContentType = "application/json"
	config.UserAgent = "holdfast/v1 (linux/amd64)"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			p.mu.Lock()
			p.sent = append(p.sent, req.Method+" "+req.URL.RequestURI())
			p.mu.Unlock()
			return next.RoundTrip(req)
		})
	})
	p.checker.Wrap(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			req.Header.Set("Kubectl-Command", command)
			return next.RoundTrip(req)
		})
	})
	p.Interface = kubernetes.NewForConfigOrDie(config)
	return p
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// HandleWarningHeader implements rest.WarningHandler.
func (p *person) HandleWarningHeader(_ int, _ string, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, text)
}

// heard is what the person was told since last asked.
func (p *person) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	said := p.said
	p.said = nil
	return said
}

// requests are what was sent since last asked.
func (p *person) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.sent
	p.sent = nil
	return sent
}

func (p *person) patch(t testing.TB, name, body, manager string) error {
	t.Helper()
	_, err := p.CoreV1().ConfigMaps("default").Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
	return err
}

// stranger is a server that judges nothing, as any other than ours.
func stranger(t testing.TB) *rest.Config {
	t.Helper()
	return servertest.Start(t, apiserver.Config{Ownership: "off"}).Config(t)
}

const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"name":"NAME","namespace":"default"},"data":{"a":"1"}}`

// applied makes a ConfigMap with a last-applied configuration, past any guard.
func applied(t testing.TB, server *rest.Config, name, text string) *corev1.ConfigMap {
	t.Helper()
	made, err := kubernetes.NewForConfigOrDie(server).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{ownership.LastApplied: strings.ReplaceAll(text, "NAME", name)}},
		Data:       map[string]string{"a": "1"},
	}, metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// grant lets somebody do something with ConfigMaps, and nothing else.
func grant(t testing.TB, admin kubernetes.Interface, role string, who rbacv1.Subject, verbs ...string) {
	t.Helper()
	rights := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}},
	}
	if _, err := admin.RbacV1().Roles("default").Create(t.Context(), rights, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role}, Subjects: []rbacv1.Subject{who},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	}
	if _, err := admin.RbacV1().RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
