package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/references"
)

// referring returns a definition that declares references.
func referring(schema string, lines ...string) string {
	return strings.Replace(annotated(schema, lines...), immutability.Annotation, references.Annotation, 1)
}

// Wrong references are refused, except those that are stored already.
func TestReferencesValidated(t *testing.T) {
	t.Parallel()
	wrong := referring(sized, "Secret spec.size", "Pod spec.size")
	const want = `metadata.annotations[holdfast.dev/references]: Invalid value: line 2: "Pod" is not one of ConfigMap, Secret, PodTemplate, PodSpec, Strings`
	crd := read(t, wrong)
	if diff := cmp.Diff([]string{want}, refusals(t, definition.Write{APIVersion: definition.V1}, crd)); diff != "" {
		t.Errorf("create (-want +got):\n%s", diff)
	}
	old := crd.DeepCopy()
	crd.Labels = map[string]string{"a": "b"}
	if got := refusals(t, definition.Write{APIVersion: definition.V1, Old: old}, crd); len(got) > 0 {
		t.Errorf("an update that keeps the annotation: %v", got)
	}
	crd.Annotations[references.Annotation] += "\nOther spec.size"
	if got := refusals(t, definition.Write{APIVersion: definition.V1, Old: old}, crd); len(got) != 1 {
		t.Errorf("an update that changes the annotation: %v", got)
	}
}

// A declared reference at a place that no version has is a warning.
func TestReferenceWarnings(t *testing.T) {
	t.Parallel()
	const schema = `{type: object, properties: {spec: {type: object, properties: {name: {type: string}, list: {type: array, items: {type: string}}, ` +
		`map: {type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}, ` +
		`free: {type: object, x-kubernetes-preserve-unknown-fields: true}, ` +
		`template: {type: object, properties: {spec: {type: object, properties: {containers: {type: array, items: {type: object}}}}}}}}}}`
	const at = "metadata.annotations[holdfast.dev/references]: "
	for line, want := range map[string]string{
		"Secret spec.name":                                  "",
		"Secret spec.list[*]":                               "",
		"Secret spec.map.*.a":                               "",
		"Secret spec.map.one.a":                             "",
		"Secret spec.free.any[*].b":                         "",
		"Strings spec":                                      "",
		"PodTemplate spec.template":                         "",
		"PodSpec spec.free":                                 "",
		`Secret metadata.annotations["example.com/secret"]`: "",
		"Secret spec.nam":                                   at + "Secret spec.nam: no version has this field",
		"Secret spec.name[*]":                               at + "Secret spec.name[*]: no version has this field",
		"Secret spec.map.*.b":                               at + "Secret spec.map.*.b: no version has this field",
		"PodTemplate spec":                                  at + "PodTemplate spec: no version has containers there, so it is not that of pods",
	} {
		crd := read(t, referring(schema, line))
		var found []string
		for _, warning := range (definition.Write{APIVersion: definition.V1}).Warnings(crd) {
			if strings.HasPrefix(warning, at) {
				found = append(found, warning)
			}
		}
		if got := strings.Join(found, "\n"); got != want {
			t.Errorf("%s: warnings %q, want %q", line, got, want)
		}
		if old := crd.DeepCopy(); len(definition.Write{APIVersion: definition.V1, Old: old}.Warnings(crd)) > 0 {
			t.Errorf("%s: an update that changes nothing gets warnings", line)
		}
	}
}

// The line for all templates of pods finds those that a schema describes, in every version, and is refused if there is none.
func TestReferencesOfTemplates(t *testing.T) {
	t.Parallel()
	const template = `{type: object, properties: {spec: {type: object, properties: {containers: {type: array, items: {type: object, ` +
		`properties: {name: {type: string}, image: {type: string}}}}}}}}`
	const none = `metadata.annotations[holdfast.dev/references]: Invalid value: line 1: PodTemplate * stands for the templates of pods that the schema ` +
		`describes, and there is none: name the places instead`
	for name, test := range map[string]struct {
		schema, other string
		want          string
	}{
		"one": {"{type: object, properties: {spec: {type: object, properties: {template: " + template + "}}}}", "", "PodSpec spec.template.spec"},
		"several": {
			"{type: object, properties: {spec: {type: object, properties: {jobTemplate: {type: object, properties: {spec: {type: object, properties: {template: " +
				template + "}}}}, map: {type: object, additionalProperties: {type: object, properties: {pod: " + template + "}}}, list: {type: array, items: " + template + "}}}}}",
			"", "PodSpec spec.jobTemplate.spec.template.spec\nPodSpec spec.list[*].spec\nPodSpec spec.map.*.pod.spec",
		},
		"the object itself": {template, "", "PodSpec spec"},
		"two versions": {
			"{type: object, properties: {spec: {type: object, properties: {template: " + template + ", a: {type: string}}}}}",
			"{type: object, properties: {spec: {type: object, properties: {template: " + template + ", older: " + template + "}}}}",
			"PodSpec spec.template.spec\nPodSpec spec.older.spec",
		},
		"another shape": {
			"{type: object, properties: {spec: {type: object, properties: {containers: {type: array, items: {type: object, properties: {name: {type: string}}}}}}}}",
			"", none,
		},
		"open": {"{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}", "", none},
	} {
		crd := read(t, referring(test.schema, "PodTemplate *"))
		if test.other != "" {
			other := read(t, referring(test.other, "PodTemplate *")).Spec.Versions[0]
			other.Name, other.Storage = "v1alpha1", false
			crd.Spec.Versions = append(crd.Spec.Versions, other)
		}
		refused := refusals(t, definition.Write{APIVersion: definition.V1}, crd)
		got, _ := crd.References()
		if len(refused) > 0 {
			got = strings.Join(refused, "\n")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
