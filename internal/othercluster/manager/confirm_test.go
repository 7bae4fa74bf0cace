package manager_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestConfirm lets another webhook change the Instance between the mutating and the
// validating call. Every change of a field that admission decides about is refused.
func TestConfirm(t *testing.T) {
	t.Parallel()
	const invalid = `Unprocessable Entity: Instance.kudo.dev "tok" is invalid: `
	const changed = `Forbidden: it was changed after it was judged, by another step of admission`
	const run = `Forbidden: a run gets its own from admission`
	generated := review{
		operation: "CREATE", newObj: `{` + head + `, metadata: {generateName: tok-}, spec: {operatorVersion: {name: tok-0.1.0}}}`,
	}
	install := review{operation: "CREATE", newObj: `{` + head + `, metadata: {name: tok}, spec: {operatorVersion: {name: tok-0.1.0}}}`}
	update := review{oldObj: stored, newObj: strings.Replace(stored, `{TOKENS: "256"}`, `{TOKENS: "256", CPUS: "2"}`, 1)}
	rollback := review{oldObj: later, newObj: rolledBack}
	set := func(value any, path ...string) func(*unstructured.Unstructured) error {
		return func(obj *unstructured.Unstructured) error {
			return unstructured.SetNestedField(obj.Object, value, path...)
		}
	}
	tests := map[string]struct {
		review
		// change is what another webhook does to the object.
		change func(*unstructured.Unstructured) error
		want   string
	}{
		"install":   {review: install, want: `allowed`},
		"generated": {review: generated, change: set("tok-x7", "metadata", "name"), want: `allowed`},
		"update":    {review: update, want: `allowed`},
		"no change": {review: review{oldObj: stored, newObj: stored}, want: `allowed`},
		"rollback":  {review: rollback, want: `allowed`},
		"a label":   {review: update, change: set("b", "metadata", "labels", "a"), want: `allowed`},
		"an immutable value": {
			update,
			set("9", "spec", "parameters", "TOKENS"),
			invalid + `spec.parameters[TOKENS]: Forbidden: parameter 'TOKENS' is immutable but was changed from '256' to '9'`,
		},
		"another operator version": {update, set("tok-0.2.0", "spec", "operatorVersion", "name"), invalid},
		"another requester": {
			update, set(`{"username":"root"}`, "metadata", "annotations", "holdfast.dev/requested-by"), invalid + `metadata.annotations: ` + changed,
		},
		"another record": {
			update, set("v1.a.b", "metadata", "annotations", "holdfast.dev/sealed-record"), invalid + `metadata.annotations: ` + changed,
		},
		"the plan removed": {
			update, set("", "spec", "planExecution", "planName"), invalid + `spec.planExecution: ` + changed,
		},
		"the UID of an earlier run": {
			update,
			set("one", "spec", "planExecution", "uid"),
			invalid + `[metadata.annotations: ` + changed + `, spec.planExecution.uid: ` + run + `]`,
		},
		"no UID": {
			update,
			set("", "spec", "planExecution", "uid"),
			invalid + `[metadata.annotations: ` + changed + `, spec.planExecution: ` + changed + `, spec.planExecution.uid: ` + run + `]`,
		},
		"the stored default removed": {
			install, func(obj *unstructured.Unstructured) error {
				unstructured.RemoveNestedField(obj.Object, "spec", "parameters")
				return nil
			}, invalid + `spec.parameters: ` + changed,
		},
		"a rollback with another value": {
			// The record of the rollback does not verify for the other value.
			rollback, set("7", "spec", "parameters", "CPUS"), invalid + `spec: Forbidden: operator version tok-0.1.0 is lower than tok-0.2.0`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.path, test.resource = manager.MutatePath, "instances"
			if test.operation == "" {
				test.operation = "UPDATE"
			}
			completed := apply(t, test.newObj, test.ask(t))
			if test.change != nil {
				if err := test.change(completed); err != nil {
					t.Fatal(err)
				}
			}
			text, err := completed.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			test.path, test.newObj = manager.ValidatePath, string(text)
			if got := summary(t, test.ask(t)); !strings.HasPrefix(got, test.want) {
				t.Errorf("answer (-want +got):\n%s", cmp.Diff(test.want, got))
			}
			if strings.HasPrefix(test.want, "allowed") {
				// The API server may run all of admission once more.
				test.path = manager.MutatePath
				again := apply(t, test.newObj, test.ask(t))
				if diff := cmp.Diff(withoutRun(completed), withoutRun(again)); diff != "" {
					t.Errorf("second run (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// apply returns the object with the patch of an answer applied.
func apply(t *testing.T, text string, answer *admissionv1.AdmissionResponse) *unstructured.Unstructured {
	t.Helper()
	if !answer.Allowed {
		t.Fatalf("refused: %s", answer.Result.Message)
	}
	obj := yamltest.Object(t, text)
	var operations []struct {
		Op, Path string
		Value    any
	}
	if len(answer.Patch) > 0 {
		if err := json.Unmarshal(answer.Patch, &operations); err != nil {
			t.Fatal(err)
		}
	}
	for _, operation := range operations {
		path := strings.Split(strings.TrimPrefix(operation.Path, "/"), "/")
		if operation.Op == "remove" {
			unstructured.RemoveNestedField(obj.Object, path...)
		} else if err := unstructured.SetNestedField(obj.Object, operation.Value, path...); err != nil {
			t.Fatal(err)
		}
	}
	return obj
}

// withoutRun returns the object without the UID of the run, which is new each time, and
// without the record that is sealed for it.
func withoutRun(obj *unstructured.Unstructured) map[string]any {
	plain := obj.DeepCopy()
	unstructured.RemoveNestedField(plain.Object, "spec", "planExecution", "uid")
	unstructured.RemoveNestedField(plain.Object, "metadata", "annotations", api.SealedRecordAnnotation)
	return plain.Object
}

// TestOperatorVersionSpec checks that the webhook refuses changes of the spec of an
// OperatorVersion.
func TestOperatorVersionSpec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ newObj, want string }{
		"another spec": {
			strings.Replace(version, `"256"`, `"9"`, 1),
			`Unprocessable Entity: OperatorVersion.kudo.dev "tok" is invalid: spec: Forbidden: an operator version never changes: a new version ` +
				`is a new object`,
		},
		"a label": {strings.Replace(version, `{name: tok-0.1.0}`, `{name: tok-0.1.0, labels: {a: b}}`, 1), `allowed`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := review{path: manager.ValidatePath, resource: "operatorversions", operation: "UPDATE", oldObj: version, newObj: test.newObj}
			if got := summary(t, sent.ask(t)); got != test.want {
				t.Errorf("answer (-want +got):\n%s", cmp.Diff(test.want, got))
			}
		})
	}
}
