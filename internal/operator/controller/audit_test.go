package controller_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/waittest"
)

// auditedVersion is an operator whose plans write a parameter into an immutable Secret, so that a second plan with another value
// fails.
const auditedVersion = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: vault-0.1.0}
spec:
  operator: {name: vault}
  version: 0.1.0
  parameters: [{name: PASSWORD, default: none}]
  templates:
    secret.yaml: "{apiVersion: v1, kind: Secret, metadata: {name: vault}, immutable: true, stringData: {password: '{{ .Params.PASSWORD }}'}}"
    config.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: vault}, data: {password: '{{ .Params.PASSWORD }}'}}"
    service.yaml: "{apiVersion: v1, kind: Service, metadata: {name: vault}, spec: {ports: [{port: 80}]}}"
  tasks: [{name: all, kind: Apply, spec: {resources: [config.yaml, service.yaml, secret.yaml]}}]
  plans: {deploy: {phases: [{name: main, steps: [{name: all, tasks: [all]}]}]}}
`

// The documented audit policy logs the writes of plans without the values of parameters and Secrets: neither of a plan that succeeds,
// nor of one that fails. Each write of a plan names the controller as the user, and the requester as the impersonated user.
func TestAuditContents(t *testing.T) {
	t.Parallel()
	const first, second = "f1rst-passw0rd", "sec0nd-passw0rd"
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(documentedPolicy(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t, apiserver.Config{
		DataDir: t.TempDir(), Audit: config.Audit{PolicyFile: policy, LogPath: log},
	})
	servertest.Grant(t, server.Client(t), rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "jane"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"", "kudo.dev"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	})
	admin, jane := dynamic.NewForConfigOrDie(server.Config(t)), dynamic.NewForConfigOrDie(server.As(t, "jane"))
	createAudited(t, admin, "operatorversions", auditedVersion)
	instance := `{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: vault},
spec: {operatorVersion: {name: vault-0.1.0}, parameters: {PASSWORD: ` + first + `}}}`
	waittest.Until(t, "jane may write instances", func() bool { return createAudited(t, jane, "instances", instance) })
	status := func() string {
		found, err := admin.Resource(api.GroupVersion.WithResource("instances")).Namespace("default").Get(t.Context(), "vault", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(found.Object["status"])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	waittest.Until(t, "the plan is complete", func() bool { return strings.Contains(status(), `"status":"COMPLETE"`) })
	change := []byte(`{"spec":{"parameters":{"PASSWORD":"` + second + `"}}}`)
	if _, err := jane.Resource(api.GroupVersion.WithResource("instances")).Namespace("default").
		Patch(t.Context(), "vault", types.MergePatchType, change, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the second plan cannot change the Secret", func() bool { return strings.Contains(status(), "immutable") })
	if got := status(); strings.Contains(got, first) || strings.Contains(got, second) {
		t.Errorf("the status has a value: %s", got)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	checkAudit(t, log, first, second)
}

// createAudited creates an object of the group kudo.dev. It returns false if the user may not do this yet.
func createAudited(t *testing.T, client dynamic.Interface, resource, text string) bool {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	_, err := client.Resource(api.GroupVersion.WithResource(resource)).Namespace("default").Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil && !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	return err == nil
}

// checkAudit checks each line of an audit log.
func checkAudit(t *testing.T, path string, values ...string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	written := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		for _, value := range values {
			for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
				if strings.Contains(lines.Text(), form) {
					t.Errorf("the log has the value %s: %.2000s", value, lines.Text())
				}
			}
		}
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event.ObjectRef == nil || event.ObjectRef.Name != "vault" || event.Verb != "patch" || event.ObjectRef.APIGroup != "" {
			continue
		}
		written[event.ObjectRef.Resource] = true
		if event.User.Username != authorship.ControllerUser || event.ImpersonatedUser == nil || event.ImpersonatedUser.Username != "jane" {
			t.Errorf("a write of the plan names %s and %+v", event.User.Username, event.ImpersonatedUser)
		}
	}
	for _, resource := range []string{"secrets", "configmaps", "services"} {
		if !written[resource] {
			t.Errorf("the log has no write of %s by the plan", resource)
		}
	}
}

// documentedPolicy returns the audit policy in docs/access.md.
func documentedPolicy(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/access.md")
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
