package fields

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/nesting"
	"holdfast.dev/holdfast/value"
)

// boatSchema is the schema of the tests that need no random one.
const boatSchema = `{type: object, properties: {
	spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}, i: {type: integer},
		l: {type: array, items: {type: integer}}, m: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
		items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string}}}}}},
	status: {type: object, properties: {phase: {type: string}}}}}`

// boat returns an object with a spec in YAML.
func boat(t *testing.T, spec string) *object.Object {
	t.Helper()
	obj := object.Of(map[string]any{})
	text := `{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}, spec: ` + spec + `}`
	if err := yaml.Unmarshal([]byte(text), &obj.Unstructured); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestApply applies configurations to stored objects that another manager created. Some have values of a wrong type, because they were
// stored under an earlier schema.
func TestApply(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{x: ", nesting.Limit+1) + "secret" + strings.Repeat("}", nesting.Limit+1)
	cases := map[string]struct {
		stored, config string
		force          bool
		// want is the spec of the result, or the error.
		want string
	}{
		"a new object":         {"", `{a: x}`, false, `map[a:x]`},
		"a new value":          {`{i: 1}`, `{a: x}`, false, `map[a:x i:1]`},
		"a conflict":           {`{a: x}`, `{a: z}`, false, `Apply failed with 1 conflict: conflict with "creator"`},
		"a forced conflict":    {`{a: x}`, `{a: z}`, true, `map[a:z]`},
		"beside a wrong type":  {`{a: {secret: 1}, i: 1}`, `{i: 1}`, false, `map[a:map[secret:1] i:1]`},
		"over a wrong type":    {`{a: {secret: 1}, i: 1}`, `{a: z}`, true, `map[a:z i:1]`},
		"beside a wrong item":  {`{l: [secret]}`, `{i: 1}`, true, `stored values have the wrong type; before you apply, correct them`},
		"an item without keys": {`{i: 1}`, `{m: [{v: x}]}`, true, `failed to create typed patch object (/a; example.com/v1, Kind=Boat)`},
		"stored without keys":  {`{m: [{v: secret}]}`, `{i: 1}`, true, `failed to create manager for existing fields: failed to convert new object`},
		"a deep object":        {deep, `{i: 1}`, true, `the stored object is too deep`},
		"a deep configuration": {`{i: 1}`, deep, true, `failed to create typed patch object (/a; example.com/v1, Kind=Boat): the`},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := formsOf(t, versionWith(t, boatSchema), "")
			var stored *object.Object
			if test.stored != "" {
				stored = endpoint.library.Create(boat(t, test.stored), "creator")
			}
			for form, recorder := range map[string]Recorder{"library": endpoint.library, "parts": endpoint.parts, "quick": endpoint.quick} {
				got, err := recorder.Apply(stored, Configuration{Content: boat(t, test.config).Object, Manager: "m", Force: test.force})
				text := fmt.Sprint(err)
				if err == nil {
					text = fmt.Sprint(got.Object["spec"])
				}
				if !strings.HasPrefix(text, test.want) || err != nil && strings.Contains(text, "secret") {
					t.Errorf("%s: got %s, want %s", form, text, test.want)
				}
			}
		})
	}
}

// TestApplyOfKubectl applies as kubectl to an object of client-side apply. The library converts the last-applied configuration to find the
// conflicts that it may resolve. If that configuration does not fit the schema any more, there is still a conflict, and the request is
// not at fault.
func TestApplyOfKubectl(t *testing.T) {
	t.Parallel()
	endpoint := formsOf(t, versionWith(t, boatSchema), "")
	for last, want := range map[string]metav1.StatusReason{
		`{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"a"},"spec":{"a":"x"}}`: "",
		`{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"a"},"spec":{"a":[]}}`:  metav1.StatusReasonConflict,
	} {
		created := boat(t, `{a: x}`)
		created.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": last})
		stored := endpoint.library.Create(created, "kubectl-client-side-apply")
		got, err := endpoint.quick.Apply(stored, Configuration{Content: boat(t, `{a: z}`).Object, Manager: "kubectl"})
		if (err != nil) != (want != "") || apierrors.ReasonForError(err) != want {
			t.Errorf("last applied %s: %v, want %q", last, err, want)
		}
		if err == nil && !strings.Contains(fmt.Sprint(got.GetAnnotations()), `"a":"z"`) {
			t.Errorf("the annotation is %v", got.GetAnnotations())
		}
	}
}

// TestUnusualWrites checks which writes take the quick way.
func TestUnusualWrites(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		manager, subresource string
		// change changes the written object.
		change func(stored, written *object.Object)
		quick  bool
	}{
		"a new value":         {"m", "", func(_, written *object.Object) { written.SetLabels(map[string]string{"x": "2"}) }, true},
		"the same":            {"m", "", func(_, _ *object.Object) {}, true},
		"a status":            {"m", "status", func(_, _ *object.Object) {}, true},
		"another manager":     {"n", "", func(_, _ *object.Object) {}, false},
		"another kind":        {"m", "status", func(_, written *object.Object) { written.SetKind("Ship") }, false},
		"not known as valid":  {"m", "", func(stored, _ *object.Object) { stored.Valid = nil }, false},
		"without a UID":       {"m", "", func(stored, _ *object.Object) { stored.SetUID("") }, false},
		"other managers sent": {"m", "", func(_, written *object.Object) { written.SetManagedFields(stale(written)) }, false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := versionWith(t, boatSchema)
			endpoint := formsOf(t, v, test.subresource)
			created := boat(t, `{a: x}`)
			created.SetLabels(map[string]string{"x": "1"})
			stored := formsOf(t, v, "").library.Create(created, "m")
			ofStatus := stored.GetManagedFields()[0]
			ofStatus.Subresource, ofStatus.FieldsV1 = "status", metav1.NewFieldsV1(`{"f:status":{"f:phase":{}}}`)
			stored.SetManagedFields(append(stored.GetManagedFields(), ofStatus))
			stored.SetUID("1")
			stored.Valid = v.Compiled
			written := stored.Copy()
			test.change(stored, written)
			want := endpoint.library.Update(stored, copied(written), test.manager)
			got := endpoint.quick.Update(stored, written, test.manager)
			if fmt.Sprint(timeless(want)) != fmt.Sprint(timeless(got)) {
				t.Errorf("got %v, want %v", got.Object, want.Object)
			}
			if isQuick := endpoint.calls.count == 0; isQuick != test.quick {
				t.Errorf("quick: %v, want %v", isQuick, test.quick)
			}
		})
	}
}

// TestResultsShareValues checks that the results of Quick share with the stored object the values that a write does not change.
func TestResultsShareValues(t *testing.T) {
	t.Parallel()
	v := versionWith(t, boatSchema)
	recorder, err := newQuick(formsOf(t, v, "").quick.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	first := boat(t, `{a: x, m: [{k: b, v: z}]}`)
	stored, err := recorder.Apply(nil, Configuration{Content: first.Object, Manager: "m"})
	if err != nil {
		t.Fatal(err)
	}
	stored = recorder.Update(stored, stored.Copy(), "n")
	stored.SetUID("1")
	for _, valid := range []*definition.Compiled{v.Compiled, nil} {
		stored.Valid = valid
		next := boat(t, `{a: w, m: [{k: b, v: z}]}`)
		merged, err := recorder.Apply(stored, Configuration{Content: next.Object, Manager: "m"})
		if err != nil {
			t.Fatal(err)
		}
		next.SetUID("1")
		for _, written := range []*object.Object{merged, recorder.Update(stored, next, "n")} {
			before, _, _ := unstructured.NestedFieldNoCopy(stored.Object, "spec", "m")
			after, _, _ := unstructured.NestedFieldNoCopy(written.Object, "spec", "m")
			if x, y := before.([]any), after.([]any); !value.SameList(x, y) {
				t.Errorf("valid %v: the list is not shared", valid != nil)
			}
			if a, _, _ := unstructured.NestedString(written.Object, "spec", "a"); a != "w" {
				t.Errorf("valid %v: a is %s", valid != nil, a)
			}
		}
	}
}

// stale returns the managed fields of an object for another manager.
func stale(obj *object.Object) []metav1.ManagedFieldsEntry {
	entries := obj.GetManagedFields()
	for i := range entries {
		entries[i].Manager = "stale"
	}
	return entries
}
