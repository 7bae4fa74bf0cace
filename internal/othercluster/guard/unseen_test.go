package guard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// boatsDefinition has a version v1 without fields that v2 marks.
const boatsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.example.com
  annotations:
    holdfast.dev/immutability: |
      v2: immutable spec.rigging
      v2: immutable spec.masts[*].sail
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              colour: {type: string}
              masts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
                items: {type: object, required: [name], properties: {name: {type: string}}}}
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              colour: {type: string}
              rigging: {type: string}
              masts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
                items: {type: object, required: [name], properties: {name: {type: string}, sail: {type: string}}}}
`

// boatWrite is an update of a boat.
type boatWrite struct {
	boat, version string
	change        func(obj *unstructured.Unstructured)
	// dropped means that our server keeps fields that another API server drops.
	dropped bool

	request  *admissionv1.AdmissionRequest
	ofServer string
}

func setSpec(value any, fields ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(obj.Object, value, append([]string{"spec"}, fields...)...)
	}
}

func label(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"a": "b"}) }

func finish(obj *unstructured.Unstructured) { obj.SetFinalizers(nil) }

// TestUnseen writes objects in a version without the fields that another version marks. Our server keeps their
// values. Another API server drops them, so the guard refuses exactly the writes that lose such a value, and those that
// our server refuses, with the same answer.
func TestUnseen(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.create(definitions, boatsDefinition)
	const boat = `{apiVersion: example.com/v2, kind: Boat, metadata: {name: NAME, finalizers: [example.com/f]}, ` +
		`spec: {colour: red, rigging: gaff, masts: [{name: main, sail: square}]}}`
	for _, name := range []string{"sloop", "wreck"} {
		f.create("default/boats.v2.example.com", strings.ReplaceAll(boat, "NAME", name))
	}
	if err := f.of("default/boats.v2.example.com").Delete(t.Context(), "wreck", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	writes := map[string]*boatWrite{
		"a label in v1":             {boat: "sloop", version: "v1", change: label, dropped: true},
		"a finalizer in v1":         {boat: "sloop", version: "v1", change: finish, dropped: true},
		"a field in v1":             {boat: "sloop", version: "v1", change: setSpec("blue", "colour"), dropped: true},
		"an item in v1":             {boat: "sloop", version: "v1", change: setSpec([]any{map[string]any{"name": "fore"}}, "masts"), dropped: true},
		"the parent in v1":          {boat: "sloop", version: "v1", change: func(obj *unstructured.Unstructured) { delete(obj.Object, "spec") }},
		"a label in v2":             {boat: "sloop", version: "v2", change: label},
		"a marked field in v2":      {boat: "sloop", version: "v2", change: setSpec("lug", "rigging")},
		"a marked field of an item": {boat: "sloop", version: "v2", change: setSpec([]any{map[string]any{"name": "main"}}, "masts")},
		"the last finalizer in v1":  {boat: "wreck", version: "v1", change: finish},
		"the last finalizer in v2":  {boat: "wreck", version: "v2", change: finish},
		"a marked field of a wreck": {boat: "wreck", version: "v2", change: setSpec("lug", "rigging")},
	}
	// The server decides before the guard runs, because it would ask the guard too.
	for _, w := range writes {
		f.decideBoat(w)
	}
	f.run()
	f.guarded("boats")
	for name, w := range writes {
		answer := f.ask(w.request)
		if !w.dropped {
			if diff := cmp.Diff(w.ofServer, statusOf(t, answer)); diff != "" {
				t.Errorf("%s (-server +guard):\n%s", name, diff)
			}
			continue
		}
		if w.ofServer != "" || answer.Allowed {
			t.Errorf("%s: the server answers %s, the guard %+v, and kube-apiserver drops fields", name, w.ofServer, answer)
			continue
		}
		for _, cause := range answer.Result.Details.Causes {
			if !strings.HasSuffix(cause.Message, ", which version v2 forbids") {
				t.Errorf("%s: %s: %s", name, cause.Field, cause.Message)
			}
		}
	}
}

// decideBoat sends an update to our server as a dry run. It records the review of the update, and the answer.
func (f *fixture) decideBoat(w *boatWrite) {
	f.Helper()
	boats := f.of("default/boats." + w.version + ".example.com")
	old, err := boats.Get(f.Context(), w.boat, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	updated := old.DeepCopy()
	w.change(updated)
	w.request = &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, Namespace: "default", Name: w.boat,
		Kind:      metav1.GroupVersionKind{Group: "example.com", Version: w.version, Kind: "Boat"},
		Resource:  metav1.GroupVersionResource{Group: "example.com", Version: w.version, Resource: "boats"},
		UserInfo:  authenticationv1.UserInfo{Username: "admin", Groups: []string{"system:masters"}},
		OldObject: runtime.RawExtension{Raw: encode(f.T, old.Object)}, Object: runtime.RawExtension{Raw: encode(f.T, updated.Object)},
	}
	if _, err = boats.Update(f.Context(), updated, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		f.Fatal(err)
	}
	w.ofServer = string(encode(f.T, withoutType(status.Status())))
}
