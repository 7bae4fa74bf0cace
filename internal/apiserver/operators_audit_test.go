package apiserver_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// documentedPolicy returns the audit policy in docs/access.md.
func documentedPolicy(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "cat > audit.yaml <<'EOF'\n")
	text, _, end := strings.Cut(text, "EOF\n")
	if !found || !end {
		t.Fatal("docs/access.md has no audit policy")
	}
	return text
}

// The documented policy logs what a plan writes, with the controller as the user and the
// requester as the impersonated user.
func TestAuditOfPlans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	write(t, policy, documentedPolicy(t))
	server := servertest.Start(t, apiserver.Config{
		DataDir: t.TempDir(), Audit: config.Audit{PolicyFile: policy, LogPath: log},
	})
	for _, binding := range []string{"edit", "admin"} {
		if _, err := server.Client(t).RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: binding},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: binding},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	admin, jane := dynamic.NewForConfigOrDie(server.Config(t)), dynamic.NewForConfigOrDie(server.As(t, "jane"))
	create := func(client dynamic.Interface, resource, text string) error {
		object := yamltest.Object(t, text)
		objects := client.Resource(api.GroupVersion.WithResource(resource)).Namespace("default")
		_, err := objects.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	if err := create(admin, "operatorversions", `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: web-0.1.0}
spec:
  operator: {name: web}
  version: 0.1.0
  templates: {a.yaml: "{apiVersion: v1, kind: Service, metadata: {name: audited}, spec: {ports: [{port: 80}]}}"}
  tasks: [{name: a, kind: Apply, spec: {resources: [a.yaml]}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}}
`); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "jane may write instances", func() bool {
		return create(jane, "instances", `
{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: web}, spec: {operatorVersion: {name: web-0.1.0}}}`) == nil
	})
	waittest.Until(t, "the plan is complete", func() bool {
		found, err := admin.Resource(api.GroupVersion.WithResource("instances")).Namespace("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		state, _, _ := unstructured.NestedString(found.Object, "status", "planStatus", "deploy", "status")
		return state == string(api.Complete)
	})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	var written, status bool
	for _, event := range auditEvents(t, log) {
		if event.User.Username == "system:apiserver" {
			t.Errorf("a request of the server is logged: %s %s", event.Verb, event.RequestURI)
		}
		if event.User.Username != authorship.ControllerUser {
			continue
		}
		for _, group := range event.User.Groups {
			if group == "system:masters" {
				t.Errorf("the controller is in system:masters: %s", event.RequestURI)
			}
		}
		if event.ObjectRef.Resource == "services" && event.Verb == "patch" && event.ImpersonatedUser != nil {
			written = written || event.ImpersonatedUser.Username == "jane" && event.RequestObject != nil
		}
		status = status || event.ObjectRef.Resource == "instances" && event.ObjectRef.Subresource == "status" && event.ImpersonatedUser == nil
	}
	if !written || !status {
		t.Errorf("the log has the write of the plan: %t, the write of its status: %t", written, status)
	}
}

// auditEvents reads the events of an audit log.
func auditEvents(t *testing.T, path string) []auditv1.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []auditv1.Event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		event := *yamltest.Known[auditv1.Event](t, lines.Bytes())
		all = append(all, event)
	}
	return all
}
