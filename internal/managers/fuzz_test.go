package managers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// FuzzExamine examines an object with any two entries. A field that is stuck is in the object and in the entry that keeps it.
func FuzzExamine(f *testing.F) {
	f.Add(`{"data":{"a":"1"}}`, onlyA, both, "kubectl-client-side-apply", "kubectl")
	f.Add(`{"spec":{"l":[{"name":"a","v":[1]}]}}`, `{"f:spec":{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:v":{"v:1":{}}}}}}`,
		`{"f:spec":{"f:l":{}}}`, "before-first-apply", "ci")
	f.Add(`{"spec":{"l":["x"]},"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{}}"}}}`,
		`{"f:spec":{"f:l":{"i:0":{},"v:\"x\"":{}}}}`, `{}`, "kubectl-client-side-apply", "kubectl-client-side-apply")
	f.Fuzz(func(t *testing.T, object, earlier, applied, first, second string) {
		var content map[string]any
		if json.Unmarshal([]byte(object), &content) != nil || content == nil {
			return
		}
		content["apiVersion"] = "v1"
		entries := []metav1.ManagedFieldsEntry{
			{Manager: first, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsV1: metav1.NewFieldsV1(earlier)},
			{Manager: second, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsV1: metav1.NewFieldsV1(applied)},
		}
		of := &ownership.Type{Applied: ownership.Untyped(), Managed: ownership.Untyped()}
		found, err := managers.Examine(ownership.Subject{Type: of, Object: content, Managers: entries}, nil)
		if err != nil {
			return
		}
		for _, one := range found.Stuck {
			if one.Reason == managers.NotRecorded {
				continue
			}
			i := slices.IndexFunc(entries, func(entry metav1.ManagedFieldsEntry) bool { return managers.WriterOf(entry) == one.Writer })
			if i < 0 {
				t.Fatalf("%s: no entry of %v", one.Path, one.Writer)
			}
			set, err := managers.Decode(entries[i])
			if err != nil || managers.Within(set, one.Path).Empty() {
				t.Errorf("%s: %v does not have it (%v)", one.Path, one.Writer, err)
			}
		}
	})
}

// BenchmarkExamine examines a Deployment with 60 fields of client-side apply, which server-side apply has taken over.
func BenchmarkExamine(b *testing.B) {
	var env, fields strings.Builder
	for i := range 50 {
		fmt.Fprintf(&env, `{name: E%d, value: "1"},`, i)
		fmt.Fprintf(&fields, `'k:{"name":"E%d"}': {".": {}, "f:name": {}, "f:value": {}},`, i)
	}
	set := `{"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:image": {}, "f:env": {` +
		fields.String() + `}}}}}}}`
	object := yamltest.Object(b, strings.ReplaceAll(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, managedFields: [`+
		entry("kubectl-client-side-apply Update 1", set)+", "+entry("kubectl Apply 2", set)+`]}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, `+
		`template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1", env: [`+env.String()+`]}]}}}}`, "VERSION", "apps/v1"))
	of := types.Of(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	b.ReportAllocs()
	for b.Loop() {
		found, err := managers.Examine(ownership.Subject{Type: of, Object: object.Object, Managers: object.GetManagedFields()}, nil)
		if err != nil || len(found.Stuck) != 2 {
			b.Fatalf("%v, %v", lines(found), err)
		}
	}
}
