package definition_test

import (
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"holdfast.dev/holdfast/internal/definition"
)

// TestSameSpec compares SameSpec with equality by reflection, which it replaces.
func TestSameSpec(t *testing.T) {
	for name, change := range map[string]func(*definition.CustomResourceDefinitionSpec){
		"nothing": func(*definition.CustomResourceDefinitionSpec) {},
		"a copied schema": func(s *definition.CustomResourceDefinitionSpec) {
			schemaOf(s, string(s.Versions[0].Schema.OpenAPIV3Schema))
		},
		"a schema":         func(s *definition.CustomResourceDefinitionSpec) { schemaOf(s, `{"type":"object"}`) },
		"an empty schema":  func(s *definition.CustomResourceDefinitionSpec) { schemaOf(s, ``) },
		"no schema":        func(s *definition.CustomResourceDefinitionSpec) { s.Versions[0].Schema = nil },
		"a name":           func(s *definition.CustomResourceDefinitionSpec) { s.Names.ShortNames = []string{"w"} },
		"a flag":           func(s *definition.CustomResourceDefinitionSpec) { s.Versions[0].Served = false },
		"an empty list":    func(s *definition.CustomResourceDefinitionSpec) { s.Names.ShortNames = []string{} },
		"one more version": func(s *definition.CustomResourceDefinitionSpec) { s.Versions = append(s.Versions, s.Versions[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			a := store(t, widgets(`{type: object, properties: {spec: {type: object}}}`))
			b := a.DeepCopy()
			change(&b.Spec)
			want := apiequality.Semantic.DeepEqual(a.Spec, b.Spec)
			if definition.SameSpec(&a.Spec, &b.Spec) != want || definition.SameSpec(&b.Spec, &a.Spec) != want {
				t.Errorf("not %t", want)
			}
		})
	}
}

func schemaOf(s *definition.CustomResourceDefinitionSpec, text string) {
	s.Versions[0].Schema = &definition.CustomResourceValidation{OpenAPIV3Schema: []byte(text)}
}
