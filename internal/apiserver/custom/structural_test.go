package custom

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/definition"
)

// TestVerdicts checks that the server decodes the schemas of a definition for its condition once for each change of the
// spec, and not when it starts, and that the condition comes back if a client removes it.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	computed, v := 0, newVerdicts()
	v.compute = func(crd *definition.CustomResourceDefinition) (apiextensionsv1.CustomResourceDefinitionCondition, bool) {
		computed++
		return definition.NonStructural(crd)
	}
	_, _, crd := idleServer()
	crd.UID, crd.Generation = "first", 1
	crd.Spec.Versions = []definition.CustomResourceDefinitionVersion{{
		Name: "v1", Schema: &definition.CustomResourceValidation{OpenAPIV3Schema: []byte(`{"properties":{"spec":{}}}`)},
	}}
	for _, step := range []struct {
		name     string
		change   func()
		computed int
		has      bool
	}{
		{"stored before the start, without the condition", func() { v.believe(crd) }, 0, false},
		{"another spec", func() { crd.Generation = 2 }, 1, true},
		{"the same spec", func() {}, 1, true},
		{"the condition was removed", func() { crd.Status.Conditions = crd.Status.Conditions[:1] }, 1, true},
		{"stored before the start, with the condition", func() { crd.UID = "second"; v.believe(crd) }, 1, true},
		{"created again", func() { crd.UID = "third" }, 2, true},
		{"deleted", func() { v.forget(crd.Name) }, 3, true},
		{"not established before the start", func() {
			v.forget(crd.Name)
			crd.Status.Conditions = nil
			v.believe(crd)
		}, 4, true},
	} {
		step.change()
		v.set(crd, metav1.Now())
		if has := definition.FindCondition(crd, apiextensionsv1.NonStructuralSchema) != nil; has != step.has || computed != step.computed {
			t.Errorf("%s: computed %d times, not %d; condition %t", step.name, computed, step.computed, has)
		}
	}
}
