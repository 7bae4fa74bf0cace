package api_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/api"
)

// TestBinding checks that the digest depends on templates, tasks, plans and parameters,
// and not on the identity of the object or the order of its fields.
func TestBinding(t *testing.T) {
	version := func(text string) *api.OperatorVersion {
		t.Helper()
		version := &api.OperatorVersion{}
		version.Name = "a-0.1.0"
		if err := yaml.UnmarshalStrict([]byte(text), &version.Spec); err != nil {
			t.Fatal(err)
		}
		return version
	}
	read := func(version *api.OperatorVersion) api.Binding {
		t.Helper()
		binding, err := version.Binding()
		if err != nil {
			t.Fatal(err)
		}
		return binding
	}
	const head = `version: 0.1.0, operator: {name: a}, `
	const spec = `{` + head + `templates: {b.yaml: x, a.yaml: "y"}, tasks: [{name: t, kind: Apply}], plans: {deploy: {}}}`
	first := read(version(spec))
	reordered := version(`{plans: {deploy: {}}, tasks: [{kind: Apply, name: t}], templates: {a.yaml: "y", b.yaml: x}, ` +
		`operator: {name: a}, version: 0.1.0}`)
	reordered.UID = "another"
	if again := read(reordered); again != first {
		t.Errorf("the same content has %v and %v", first, again)
	}
	for name, text := range map[string]string{
		"template": `{` + head + `templates: {b.yaml: x, a.yaml: z}, tasks: [{name: t, kind: Apply}], plans: {deploy: {}}}`,
		"task":     `{` + head + `templates: {b.yaml: x, a.yaml: "y"}, tasks: [{name: t, kind: Delete}], plans: {deploy: {}}}`,
		"plan":     `{` + head + `templates: {b.yaml: x, a.yaml: "y"}, tasks: [{name: t, kind: Apply}], plans: {deploy: {}, update: {}}}`,
		"parameter": `{` + head + `templates: {b.yaml: x, a.yaml: "y"}, tasks: [{name: t, kind: Apply}], plans: {deploy: {}}, ` +
			`parameters: [{name: A}]}`,
	} {
		if other := read(version(text)); other == first {
			t.Errorf("another %s does not change the digest", name)
		}
	}
	instance := &api.Instance{}
	if _, found, err := api.BoundTo(instance); found || err != nil {
		t.Errorf("binding of a new Instance: %t, %v", found, err)
	}
	if err := api.Bind(instance, version(spec)); err != nil {
		t.Fatal(err)
	}
	if bound, found, err := api.BoundTo(instance); bound != first || !found || err != nil {
		t.Errorf("bound to %v, %t, %v", bound, found, err)
	}
}
