package custom

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/ahead"
	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/served"
	"holdfast.dev/holdfast/internal/definition"
)

// established returns a generated definition that has its names.
func established(name string, fields int) *definition.CustomResourceDefinition {
	crd := definitiontest.Sized("large.example.com", name, fields)
	crd.Status.AcceptedNames = crd.Spec.Names
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	return crd
}

// TestLargeDefinitionIsCompiledAhead checks that the server compiles a large definition when it is created, once, and by its rules, that it
// compiles a changed one again, and that it compiles no small one and none that it finds when it starts.
func TestLargeDefinitionIsCompiledAhead(t *testing.T) {
	t.Parallel()
	converters, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	compilations := 0
	s := &Server{resources: map[schema.GroupResource]*served.Resource{}, controller: &controller{}, ahead: ahead.New()}
	s.resource.Kinds = kind.Config{
		Converters: converters, Models: map[string]*spec.Schema{metav1.ObjectMeta{}.OpenAPIModelName(): spec.MapProperty(nil)},
		Observe: func(time.Time, error) { compilations++ },
	}
	const large = 1500
	forms := ahead.New().Takes(established("probe", large), time.Now())

	s.replace(established("old", large))
	s.loaded.Store(true)
	s.replace(established("small", 100))
	if compilations != 0 {
		t.Errorf("%d compilations of a small definition and of one that the server found", compilations)
	}

	atlas := established("atlas", large)
	s.replace(atlas)
	r := s.resources[kind.ResourceOf(atlas)]
	if r.HasCompiledWrites() != forms || r.WasUsed() != forms {
		t.Fatalf("a large definition is compiled: %t, want %t", r.HasCompiledWrites(), forms)
	}
	if !forms {
		return
	}
	later := atlas.DeepCopy()
	definition.SetCondition(later, apiextensionsv1.CustomResourceDefinitionCondition{Type: "Other"}, metav1.Now())
	s.replace(later)
	if s.resources[kind.ResourceOf(atlas)] != r || compilations != 2 {
		t.Errorf("a change of the status compiled the definition again: %d compilations", compilations)
	}
	object := map[string]any{"spec": map[string]any{"part000": map[string]any{"image": "a", "replicas": int64(2), "maxReplicas": int64(1)}}}
	if errs := r.Versions["v1"].Compiled.Validate(t.Context(), object, nil); len(errs) != 1 {
		t.Errorf("an object that breaks one rule has the errors %v", errs)
	}

	changed := established("atlas", large+15)
	s.replace(changed)
	if r := s.resources[kind.ResourceOf(changed)]; r.CRD != changed || !r.HasCompiledWrites() {
		t.Error("a changed definition is not compiled")
	}
	// As the server does with other resources that no request uses.
	s.closeUnused(time.Now().Add(time.Hour))
	if s.resources[kind.ResourceOf(changed)].HasCompiledWrites() {
		t.Error("a definition that no request uses stays compiled")
	}
}
