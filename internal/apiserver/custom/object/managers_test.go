package object

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/yamltest"
)

// The managed fields of an object are those of an Unstructured with the same content, also if
// a client sent something that no field manager writes.
func TestManagedFieldsOfUnstructured(t *testing.T) {
	tests := map[string]string{
		"none":       `{}`,
		"no metadat": `{spec: {}}`,
		"text":       `{metadata: {managedFields: text}}`,
		"null":       `{metadata: {managedFields: null}}`,
		"empty":      `{metadata: {managedFields: []}}`,
		"one empty":  `{metadata: {managedFields: [{}]}}`,
		"no object":  `{metadata: {managedFields: [text]}}`,
		"usual": `{metadata: {managedFields: [
			{manager: a, operation: Apply, apiVersion: a/v1, time: "2026-11-15T02:00:00Z", fieldsType: FieldsV1, subresource: status,
			 fieldsV1: {"f:spec": {".": {}, "k:{\"name\":\"a\"}": {}, "v:\"<é>\"": {}, "i:0": {}}}},
			{manager: b, operation: Update, apiVersion: a/v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]}}`,
		"zone":             `{metadata: {managedFields: [{manager: a, time: "2026-11-15T02:00:00+02:00"}]}}`,
		"fraction":         `{metadata: {managedFields: [{manager: a, time: "2026-11-15T02:00:00.75Z"}]}}`,
		"no time":          `{metadata: {managedFields: [{manager: a, time: soon}]}}`,
		"null time":        `{metadata: {managedFields: [{manager: a, time: null}]}}`,
		"null manager":     `{metadata: {managedFields: [{manager: null, operation: Update}]}}`,
		"number":           `{metadata: {managedFields: [{manager: 7, operation: Update}]}}`,
		"unknown key":      `{metadata: {managedFields: [{manager: a, other: b}]}}`,
		"unknown object":   `{metadata: {managedFields: [{manager: a, other: {b: 1}}]}}`,
		"fields as text":   `{metadata: {managedFields: [{manager: a, fieldsV1: text}]}}`,
		"fields as list":   `{metadata: {managedFields: [{manager: a, fieldsV1: [1, 2.5]}]}}`,
		"fields are null":  `{metadata: {managedFields: [{manager: a, fieldsV1: null}]}}`,
		"fields with data": `{metadata: {managedFields: [{manager: a, fieldsV1: {"f:a": 1, "f:b": [2.5, null], "f:c": "<"}}]}}`,
	}
	for title, content := range tests {
		t.Run(title, func(t *testing.T) {
			obj := yamltest.Map(t, content)
			judge := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(integers(obj))}
			want, got := judge.GetManagedFields(), Of(integers(obj)).GetManagedFields()
			if diff := cmp.Diff(want, got); diff != "" || (want == nil) != (got == nil) {
				t.Fatalf("get (-want +got):\n%s", diff)
			}
			for _, in := range []map[string]any{{}, {"metadata": map[string]any{}}, {"metadata": "text"}} {
				judge, mine := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(in)}, Of(runtime.DeepCopyJSON(in))
				judge.SetManagedFields(want)
				mine.SetManagedFields(want)
				if diff := cmp.Diff(judge.Object, mine.Object); diff != "" {
					t.Errorf("set (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// integers replaces the floats that sigs.k8s.io/yaml returns for integers.
func integers(obj map[string]any) map[string]any {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&unstructured.Unstructured{Object: obj})
	if err != nil {
		panic(err)
	}
	return out
}

// Entries that no client can send, because they are not JSON.
func TestSetUnusualManagedFields(t *testing.T) {
	raw := metav1.NewFieldsV1
	tests := map[string][]metav1.ManagedFieldsEntry{
		"nil":         nil,
		"empty":       {},
		"zero time":   {{Manager: "a", Time: &metav1.Time{}}},
		"nanoseconds": {{Manager: "a", Time: &metav1.Time{Time: time.Unix(7, 7)}}},
		"no text":     {{Manager: "a", FieldsV1: &metav1.FieldsV1{}}},
		"null":        {{Manager: "a", FieldsV1: raw("null")}},
		"a list":      {{Manager: "a", FieldsV1: raw("[1]")}},
		"no JSON":     {{Manager: "a", FieldsV1: raw("{")}},
	}
	for title, entries := range tests {
		t.Run(title, func(t *testing.T) {
			content := func() map[string]any {
				return map[string]any{"metadata": map[string]any{"name": "a", "managedFields": []any{"before"}}}
			}
			judge, mine := &unstructured.Unstructured{Object: content()}, Of(content())
			judge.SetManagedFields(entries)
			mine.SetManagedFields(entries)
			if diff := cmp.Diff(judge.Object, mine.Object); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
