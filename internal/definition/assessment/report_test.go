package assessment_test

import (
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/yamltest"
)

// define returns a definition with a schema of spec.
func define(t *testing.T, spec string) *definition.CustomResourceDefinition {
	t.Helper()
	return yamltest.Decode[definition.CustomResourceDefinition](t, "{metadata: {name: boats.example.com}, spec: {group: example.com, scope: Namespaced, "+
		"names: {plural: boats, kind: Boat}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: "+
		"{spec: "+spec+"}}}}]}, status: {storedVersions: [v1]}}")
}

// Names of objects, and the keys of maps in them, are for users who may list the objects. Others see numbers.
func TestNames(t *testing.T) {
	t.Parallel()
	// The rule names no field, so the place of the error is in the object.
	const rule = "x-kubernetes-validations: [{rule: 'size(self) < 9'}]"
	old := define(t, "{type: object, additionalProperties: {type: string}}")
	crd := define(t, "{type: object, additionalProperties: {type: string, "+rule+"}}")
	report, err := assessment.Compare(old, crd)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Reads {
		t.Fatal("the report reads no objects")
	}
	object := "{apiVersion: example.com/v1, kind: Boat, metadata: {name: anna}, spec: {customer: confidential}}"
	report.Add(t.Context(), "harbour/anna", yamltest.Map(t, object))
	for _, mayList := range []bool{false, true} {
		names := func() bool { return mayList }
		err := report.Refuse(definition.RefuseBreaking, names)
		if err == nil {
			t.Fatal("not refused")
		}
		for _, text := range append(report.Warnings(definition.Warn, names), err.Error()) {
			if !strings.Contains(text, "1 stored object") {
				t.Errorf("%q does not count the object", text)
			}
			if got := strings.Contains(text, "harbour/anna"); got != mayList {
				t.Errorf("the user may list: %t, and reads %q", mayList, text)
			}
			if strings.Contains(text, "confidential") || !mayList && strings.Contains(text, "customer") {
				t.Errorf("the user may list: %t, and reads %q", mayList, text)
			}
		}
	}
}
