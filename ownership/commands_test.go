package ownership_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

func TestCommands(t *testing.T) {
	at := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	var c ownership.Commands
	add := func(command string, fields ...string) {
		at = at.Add(time.Minute)
		c.Add(ownership.Command{Command: command, Manager: "m", Time: at, Fields: fields})
	}
	add("kubectl set image", `.spec.containers[name="web"].image`)
	add("kubectl scale", ".spec.replicas")
	add("kubectl patch", `.spec.containers[name="web"]`)
	add("kubectl annotate", ".metadata.annotations")
	for field, want := range map[string]string{
		`.spec.containers[name="web"].image`: "kubectl patch",
		`.spec.replicas`:                     "kubectl scale",
		`.spec`:                              "kubectl patch",
		`.spec.replica`:                      "",
		`.metadata.annotations["a.b/c"]`:     "kubectl annotate",
	} {
		if got, _ := c.Find(field); got.Command != want {
			t.Errorf("%s: found %q, want %q", field, got.Command, want)
		}
	}
	if len(c.Entries) != 3 {
		t.Errorf("%d entries, want those whose fields were not written again", len(c.Entries))
	}
	for i := range 1000 {
		var fields []string
		for j := range 100 {
			fields = append(fields, fmt.Sprintf(".spec.%s-%d-%d", strings.Repeat("x", i%200), i, j))
		}
		add("kubectl patch", fields...)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 24<<10 {
		t.Errorf("%d bytes are remembered", len(data))
	}
	absurd := make([]string, 40)
	for i := range absurd {
		absurd[i] = fmt.Sprintf(".spec.%d%s", i, strings.Repeat("x", 500))
	}
	add("kubectl patch", absurd...)
	if n := len(c.Entries[0].Fields); len(c.Entries) != 1 || n == 0 || n > 16 {
		t.Errorf("%d fields of the last of %d entries", n, len(c.Entries))
	}
	before := c
	add("kubectl patch", strings.Repeat("x", 9<<10))
	if diff := cmp.Diff(before, c); diff != "" {
		t.Errorf("a field that is too long to be remembered changes (-before +after):\n%s", diff)
	}
}

// A command that changed many fields is stored with the path of their parent. It is the source of
// a field if the managed fields have its manager for it.
func TestManyFields(t *testing.T) {
	live, updated := yamltest.Map(t, "{metadata: {labels: {a: b}}, data: {}}"), yamltest.Map(t, "{metadata: {labels: {a: c}}, data: {}}")
	for i := range 40 {
		updated["data"].(map[string]any)[fmt.Sprintf("k%d", i)] = "v"
	}
	many := loose.ChangedFields(live, updated)
	if diff := cmp.Diff([]string{".data", ".metadata.labels.a"}, many); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	at := metav1.NewTime(time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC))
	var commands ownership.Commands
	commands.Add(ownership.Command{Command: "kubectl edit", Manager: "kubectl-edit", Time: at.Time, Fields: []string{".data.k39", ".spec.a"}})
	commands.Add(ownership.Command{Command: "kubectl patch", Manager: "kubectl-patch", Time: at.Time, Fields: many})
	managers := []metav1.ManagedFieldsEntry{
		{Manager: "kubectl-patch", Operation: "Update", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:k0":{},"f:k39":{}}}`)},
		{Manager: "kubectl-edit", Operation: "Update", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:other":{}}}`)},
	}
	for field, want := range map[string]string{
		".data.k0": "kubectl patch", ".data.k39": "kubectl patch", ".data.other": "kubectl-edit", ".status.none": "",
		".spec.a": "kubectl edit", // was removed, so that no manager owns it
	} {
		path, err := ownership.ParsePath(field)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownership.LastSet(loose, managers, commands, path); got.Name != want {
			t.Errorf("%s: set by %q, want %q", field, got.Name, want)
		}
	}
}

func TestReplacement(t *testing.T) {
	got, err := ownership.Replacement(yamltest.Map(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  namespace: b
  uid: x
  resourceVersion: "1"
  generation: 2
  creationTimestamp: null
  managedFields: []
  annotations: {kubectl.kubernetes.io/last-applied-configuration: old, mine: "1"}
data: {k: v}
status: {x: y}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap",` +
		`"metadata":{"annotations":{"mine":"1"},"name":"a","namespace":"b"}}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotation (-want +got):\n%s", diff)
	}
}
