package served

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/kept"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/definition"
)

// boats returns a compiled kind with two versions. v1 is stored, and only it has the field sails.
func boats(t *testing.T) *kind.Kind {
	t.Helper()
	schema := func(properties string) *definition.CustomResourceValidation {
		return &definition.CustomResourceValidation{
			OpenAPIV3Schema: []byte(`{"type":"object","properties":{"spec":{"type":"object","properties":{` + properties + `}}}}`),
		}
	}
	crd := &definition.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "boats.example.com"}}
	crd.Spec.Group, crd.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Kind: "Boat", ListKind: "BoatList"}
	crd.Spec.Versions = []definition.CustomResourceDefinitionVersion{
		{
			Name: "v1", Served: true, Storage: true,
			Schema: schema(`"color":{"type":"string","default":"blue"},"sails":{"type":"integer"},"crew":{"type":"array","items":{"type":"string"}}`),
		},
		{Name: "v2", Served: true, Schema: schema(`"color":{"type":"string","default":"red"}`)},
	}
	crd.Status.AcceptedNames = crd.Spec.Names
	converters, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]*spec.Schema{metav1.ObjectMeta{}.OpenAPIModelName(): spec.MapProperty(nil)}
	k := kind.New(crd, &kind.Config{Converters: converters, Models: models, Observe: func(time.Time, error) {}})
	if err := errors.Join(k.Compile(), k.CompileWrites()); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestTreesAreDecoded checks that a codec with kept trees decodes stored texts to what a codec without them decodes, for objects that it
// stored itself and for texts that another server stored. It also checks that it takes the objects that it stored from the trees.
func TestTreesAreDecoded(t *testing.T) {
	t.Parallel()
	k, random := boats(t), rand.New(rand.NewPCG(1, 101))
	trees := kept.New()
	for i := range 400 {
		v := k.Versions[[]string{"v1", "v2"}[random.IntN(2)]]
		quick, plain := newCodec(v, text.New(nil), trees), newCodec(v, text.Library{}, nil)
		obj := object.New(v.GroupVersionKind())
		obj.SetName(fmt.Sprint("boat-", i))
		obj.SetLabels(map[string]string{"n": fmt.Sprint(random.IntN(3))})
		spec := map[string]any{"sails": int64(random.IntN(9)), "crew": []any{"é", "<b>"}, "unknown": map[string]any{"a": nil}}
		if random.IntN(2) == 0 {
			spec["color"] = "green"
		}
		obj.Object["spec"] = spec
		var stored bytes.Buffer
		if random.IntN(3) > 0 {
			v.Conform(obj.Object)
			if err := quick.Encode(obj, &stored); err != nil {
				t.Fatal(err)
			}
			if known := trees.Get(v, stored.Bytes()); (known != nil) != (v.Name == "v1" && trees != nil) {
				t.Fatalf("an object of version %s is kept: %t", v.Name, known != nil)
			}
		} else if err := (text.Library{}).Encode(&stored, obj.Object); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			got, _, err := quick.Decode(stored.Bytes(), nil, nil)
			want, _, wantErr := plain.Decode(stored.Bytes(), nil, nil)
			if err != nil || wantErr != nil {
				t.Fatal(err, wantErr)
			}
			if diff := cmp.Diff(object.From(want).Object, object.From(got).Object); diff != "" {
				t.Fatalf("%s\n-plain +quick:\n%s", stored.Bytes(), diff)
			}
		}
	}
}
