package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

func definitions(t *testing.T) map[string]*definition.Compiled {
	t.Helper()
	texts, err := api.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*definition.Compiled{}
	for _, text := range texts {
		crd := yamltest.Decode[definition.CustomResourceDefinition](t, text)
		definition.SetDefaults(crd)
		w := definition.Write{APIVersion: definition.V1}
		w.Prepare(crd)
		if errs := w.Validate(t.Context(), crd); len(errs) > 0 {
			t.Errorf("%s: %v", crd.Name, errs.ToAggregate())
		}
		versions, err := definition.Compile(crd)
		if err != nil {
			t.Fatal(err)
		}
		compiled[crd.Spec.Names.Kind] = versions["v1beta1"]
	}
	return compiled
}

// TestDefinitionsHaveEveryField fills the Go types with random content and expects
// that the schemas of the definitions prune none of it.
func TestDefinitionsHaveEveryField(t *testing.T) {
	compiled := definitions(t)
	filler := randfill.NewWithSeed(1).NilChance(0).NumElements(1, 2).Funcs(
		func(meta *metav1.ObjectMeta, _ randfill.Continue) { meta.Name = "x" },
		func(list *metav1.TypeMeta, _ randfill.Continue) { *list = metav1.TypeMeta{} },
	)
	kinds := map[string]runtime.Object{
		"Operator": &api.Operator{}, "OperatorVersion": &api.OperatorVersion{}, "Instance": &api.Instance{},
	}
	for kind, object := range kinds {
		t.Run(kind, func(t *testing.T) {
			filler.Fill(object)
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				t.Fatal(err)
			}
			if pruned := compiled[kind].Skeleton.PrunePaths(content); len(pruned) > 0 {
				t.Errorf("not in the definition: %v", pruned)
			}
			if diff := cmp.Diff(object, object.DeepCopyObject()); diff != "" {
				t.Errorf("copy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOperatorVersionSpecIsImmutable(t *testing.T) {
	policy := definitions(t)["OperatorVersion"].Policy
	object := func(text string) (content map[string]any) {
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		return content
	}
	found := policy.Check(object(`{spec: {version: 0.1.0, templates: {a: b}}}`), object(`{spec: {version: 0.1.0, templates: {a: c}}}`))
	if len(found) != 1 || found[0].String() != `spec.templates.a: field is immutable: changed from "b" to "c"` {
		t.Errorf("got %v", found)
	}
}

func TestDefinitions(t *testing.T) {
	ov := &api.OperatorVersion{}
	ov.Name = "tok-1.0-0.1.0"
	if err := yaml.UnmarshalStrict([]byte(`
operator: {name: tok}
version: 0.1.0
plans: {update: {}, deploy: {}}
parameters:
- {name: A, required: true, value-type: integer, type: array}
- {name: B, default: "", immutable: true, type: map, trigger: update, enum: [x]}
`), &ov.Spec); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(ov.Definitions())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Name":"tok-1.0-0.1.0","Operator":"tok","Version":"0.1.0","Plans":["deploy","update"],"Definitions":[` +
		`{"Name":"A","Type":"integer","Required":true,"Default":null,"Enum":null,"Trigger":"","Immutable":false},` +
		`{"Name":"B","Type":"map","Required":false,"Default":"","Enum":["x"],"Trigger":"update","Immutable":true}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}

// TestSameContent compares an OperatorVersion of an earlier release with one of this release.
// The digest of the earlier one must not change, because Instances are bound to it.
func TestSameContent(t *testing.T) {
	var earlier, now api.OperatorVersionSpec
	for text, spec := range map[string]*api.OperatorVersionSpec{
		`{operator: {name: a}, parameters: [{name: A, type: array, required: true, immutable: false, enum: [x]}]}`:      &earlier,
		`{operator: {name: a}, parameters: [{name: A, value-type: array, required: true, default: "null", enum: [x]}]}`: &now,
	} {
		if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
			t.Fatal(err)
		}
	}
	if !api.SameContent(earlier, now) {
		t.Error("the content differs")
	}
	now.Parameters[0].Required = nil
	if api.SameContent(earlier, now) {
		t.Error("a parameter that is not required is the same as one that is")
	}
	text, err := json.Marshal(earlier)
	if want := `{"operator":{"name":"a"},"parameters":[{"name":"A","required":true,"type":"array","immutable":false,"enum":["x"]}]}`; err != nil ||
		string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestVersionKey(t *testing.T) {
	for namespace, want := range map[string]string{"": "tok", "own": "tok", "shared": "shared/tok"} {
		instance := &api.Instance{}
		instance.Namespace, instance.Spec.OperatorVersion.Namespace, instance.Spec.OperatorVersion.Name = "own", namespace, "tok"
		if got := instance.VersionKey(); got != want {
			t.Errorf("%q: got %s", namespace, got)
		}
		instance.SetVersionKey(want)
		if got := instance.VersionKey(); got != want {
			t.Errorf("%q: set as %s", namespace, got)
		}
	}
}

func TestConsent(t *testing.T) {
	tests := map[string]struct {
		annotation string
		want       []string
		err        string
	}{
		"for this version":    {annotation: `{"operatorVersion":"tok-1.0-0.2.0","names":["LATER","NEW"]}`, want: []string{"LATER", "NEW"}},
		"for another version": {annotation: `{"operatorVersion":"tok-1.0-0.3.0","names":["LATER","NEW"]}`},
		"none":                {},
		"not JSON": {
			annotation: `LATER`,
			err:        "metadata.annotations[holdfast.dev/given-parameters]: invalid character 'L' looking for beginning of value",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			instance := &api.Instance{}
			if test.annotation != "" {
				instance.Annotations = map[string]string{api.ConsentAnnotation: test.annotation}
			}
			got, err := api.ConsentedNames(instance, "tok-1.0-0.2.0")
			if err != nil && err.Error() != test.err || err == nil && test.err != "" {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnnotationsRoundTrip(t *testing.T) {
	instance := &api.Instance{}
	var records []api.Record
	for _, version := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		records = append(records, api.Record{OperatorVersion: version, Parameters: map[string]string{"A": version}})
	}
	if err := api.SetRecords(instance, records); err != nil {
		t.Fatal(err)
	}
	kept, err := api.Records(instance)
	if diff := cmp.Diff(records[2:], kept); diff != "" || err != nil {
		t.Errorf("records %v (-want +got):\n%s", err, diff)
	}
	if err := api.SetRecords(instance, nil); err != nil {
		t.Fatal(err)
	}
	if _, found := instance.Annotations[api.RecordsAnnotation]; found {
		t.Error("the annotation is still there without records")
	}
}

// TestRecordsAreBounded checks the size limit: the oldest records are dropped first,
// and if the newest alone is too large none is kept.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	record := func(version string, size int) api.Record {
		return api.Record{OperatorVersion: version, Parameters: map[string]string{"A": strings.Repeat("x", size)}}
	}
	tests := map[string]struct {
		records []api.Record
		want    []string
	}{
		"small records":           {[]api.Record{record("a", 1), record("b", 1)}, []string{"a", "b"}},
		"the oldest is dropped":   {[]api.Record{record("a", 60<<10), record("b", 60<<10), record("c", 60<<10)}, []string{"b", "c"}},
		"the newest is too large": {[]api.Record{record("a", 1), record("b", 200<<10)}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			instance := &api.Instance{}
			if err := api.SetRecords(instance, test.records); err != nil {
				t.Fatal(err)
			}
			kept, err := api.Records(instance)
			if err != nil {
				t.Fatal(err)
			}
			var versions []string
			for _, one := range kept {
				versions = append(versions, one.OperatorVersion)
			}
			if diff := cmp.Diff(test.want, versions); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunningPlan(t *testing.T) {
	tests := map[string]struct{ instance, want string }{
		"none":      {instance: `{}`},
		"requested": {instance: `{spec: {planExecution: {planName: deploy, uid: a}}}`, want: "deploy"},
		"in progress": {
			instance: `{spec: {planExecution: {planName: deploy, uid: a}}, status: {planStatus: {deploy: {uid: a, status: IN_PROGRESS}}}}`,
			want:     "deploy",
		},
		"ended": {
			instance: `{spec: {planExecution: {planName: deploy, uid: a}}, status: {planStatus: {deploy: {uid: a, status: COMPLETE}}}}`,
		},
		"an earlier run ended": {
			instance: `{spec: {planExecution: {planName: deploy, uid: b}}, status: {planStatus: {deploy: {uid: a, status: COMPLETE}}}}`,
			want:     "deploy",
		},
		"another plan has ended": {
			instance: `{spec: {planExecution: {planName: update, uid: b}}, status: {planStatus: {deploy: {uid: b, status: COMPLETE}}}}`,
			want:     "update",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			instance := yamltest.Decode[api.Instance](t, test.instance)
			if got := instance.RunningPlan(); got != test.want {
				t.Errorf("running %q, want %q", got, test.want)
			}
		})
	}
}
