package apiserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// The audit log holds the requests that the policy names, and no others, with the bodies that it
// asks for.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	write(t, policy, `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  resources: [{group: "", resources: [configmaps]}]
- level: RequestResponse
  omitManagedFields: true
  verbs: [get, list]
  resources: [{group: kudo.dev, resources: [operators]}]
- level: Request
  resources: [{group: kudo.dev, resources: [operators]}]
`)
	server := servertest.Start(t, apiserver.Config{
		DataDir: t.TempDir(), Audit: config.Audit{PolicyFile: policy, LogPath: log},
	})
	if _, err := server.Client(t).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "audited"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	operators := dynamic.NewForConfigOrDie(server.Config(t)).Resource(api.GroupVersion.WithResource("operators")).Namespace("default")
	applied := []byte(`{"apiVersion":"kudo.dev/v1beta1","kind":"Operator","metadata":{"name":"tok"},"spec":{"description":"applied"}}`)
	if _, err := operators.Patch(t.Context(), "tok", types.ApplyPatchType, applied, metav1.PatchOptions{FieldManager: "m"}); err != nil {
		t.Fatal(err)
	}
	got, err := operators.Get(t.Context(), "tok", metav1.GetOptions{})
	if err != nil || len(got.GetManagedFields()) == 0 {
		t.Errorf("a logged GET answers without managed fields: %v, %v", got, err)
	}
	list, err := operators.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || len(list.Items[0].GetManagedFields()) == 0 {
		t.Errorf("a logged LIST answers without managed fields: %v, %v", list, err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	holds := func(text string) bool { return strings.Contains(string(data), text) }
	if !holds(`"verb":"create"`) || !holds(`"name":"audited"`) || holds(`"resource":"leases"`) {
		t.Errorf("the log holds %s", data)
	}
	if !holds(`"requestObject":` + string(applied)) {
		t.Errorf("the log does not hold the whole applied object: %s", data)
	}
	if !holds(`"responseObject":{"apiVersion":"kudo.dev/v1beta1","kind":"Operator"`) || holds("managedFields") {
		t.Errorf("the log holds managed fields, or no answer: %s", data)
	}
}
