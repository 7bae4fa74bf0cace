package definition_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/randfill"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
	"holdfast.dev/holdfast/internal/yamltest"
)

// filler makes random definitions.
func filler(seed int64) *randfill.Filler {
	schemas := []string{
		`{"type":"object"}`,
		`{"type":"object","x-kubernetes-no-prune":true}`,
		`{"properties":{"a":{"type":"string","x-kubernetes-immutable":true}}}`,
	}
	return randfill.NewWithSeed(seed).NilChance(.3).NumElements(1, 3).Funcs(
		func(raw *json.RawMessage, c randfill.Continue) { *raw = json.RawMessage(schemas[c.Intn(len(schemas))]) },
		func(errs *definition.ConversionErrors, _ randfill.Continue) { *errs = nil },
		func(s *definition.CustomResourceDefinitionSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			for i := range s.Versions {
				s.Versions[i].Name = fmt.Sprintf("v%d", i)
			}
			s.Prune = nil
		},
		func(s *v1beta1.CustomResourceDefinitionSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			for i := range s.Versions {
				s.Versions[i].Name = fmt.Sprintf("v%d", i)
			}
			s.Version, s.Prune = "", nil
		},
		func(w *apiextensionsv1.WebhookConversion, c randfill.Continue) {
			c.FillNoCustom(w)
			// v1beta1 has no field that tells an empty webhook from no webhook.
			w.ConversionReviewVersions = append(w.ConversionReviewVersions, "v1")
		},
	)
}

// same makes empty and absent lists equal. They mean the same.
var same = cmpopts.EquateEmpty()

// A stored definition does not change when a client reads it in v1beta1 and
// writes it back, and a definition written in v1beta1 is read as it was written.
func FuzzConversion(f *testing.F) {
	for seed := range int64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		stored := &definition.CustomResourceDefinition{}
		filler(seed).Fill(&stored.Spec)
		definition.SetDefaults(stored)
		definition.Write{APIVersion: definition.V1beta1}.Prepare(stored)
		shown := v1beta1.FromStored(stored)
		back := shown.ToStored()
		if len(back.Spec.ConversionErrors) > 0 {
			t.Errorf("conversion errors after FromStored: %v", back.Spec.ConversionErrors)
		}
		definition.Write{APIVersion: definition.V1beta1, Old: stored}.Prepare(back)
		if contradicts(stored) {
			return
		}
		if diff := cmp.Diff(stored, back, same); diff != "" {
			t.Errorf("stored, read and written back (-want +got):\n%s", diff)
		}

		beta := &v1beta1.CustomResourceDefinition{}
		filler(seed).Fill(&beta.Spec)
		v1beta1.SetDefaults(beta)
		first := beta.ToStored()
		definition.Write{APIVersion: definition.V1beta1}.Prepare(first)
		if len(first.Spec.ConversionErrors) > 0 || contradicts(first) {
			return
		}
		second := v1beta1.FromStored(first).ToStored()
		definition.Write{APIVersion: definition.V1beta1, Old: first}.Prepare(second)
		if diff := cmp.Diff(v1beta1.FromStored(first), v1beta1.FromStored(second), same); diff != "" {
			t.Errorf("shown, written back and shown (-want +got):\n%s", diff)
		}
	})
}

// contradicts reports whether Prepare did not change the pruning flags, because
// Validate refuses them.
func contradicts(crd *definition.CustomResourceDefinition) bool {
	if crd.Spec.Prune != nil || crd.Spec.PreserveUnknownFields != nil && !*crd.Spec.PreserveUnknownFields {
		return true
	}
	for _, v := range crd.Spec.Versions {
		if v.Prune != nil && (*v.Prune || crd.Spec.PreserveUnknownFields != nil) {
			return true
		}
	}
	return false
}

// A deep copy equals its original. Neither a deep copy nor a converted definition
// shares memory with its original, except the JSON of schemas, which nothing changes.
func FuzzDeepCopy(f *testing.F) {
	for seed := range int64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		original := func() *definition.CustomResourceDefinition {
			crd := &definition.CustomResourceDefinition{}
			filler(seed).Fill(&crd.ObjectMeta)
			filler(seed).Fill(&crd.Spec)
			filler(seed).Fill(&crd.Status)
			crd.Spec.ConversionErrors = definition.ConversionErrors{field.Invalid(field.NewPath("spec"), 1, "a")}
			return crd
		}
		want := original()
		unchanged(t, want, original(), func(crd *definition.CustomResourceDefinition) any { return crd.DeepCopyObject() })
		unchanged(t, want, original(), func(crd *definition.CustomResourceDefinition) any { return v1beta1.FromStored(crd) })
		list := func() *definition.CustomResourceDefinitionList {
			return &definition.CustomResourceDefinitionList{Items: []definition.CustomResourceDefinition{*original()}}
		}
		unchanged(t, list(), list(), func(l *definition.CustomResourceDefinitionList) any { return l.DeepCopyObject() })

		beta := func() *v1beta1.CustomResourceDefinition { return v1beta1.FromStored(original()) }
		unchanged(t, beta(), beta(), func(crd *v1beta1.CustomResourceDefinition) any { return crd.DeepCopyObject() })
		unchanged(t, beta(), beta(), func(crd *v1beta1.CustomResourceDefinition) any { return crd.ToStored() })
	})
}

// unchanged copies original, overwrites the copy, and compares original with
// want, which equals it. A copy of the same type must equal it too.
func unchanged[T any](t *testing.T, want, original *T, copyOf func(*T) any) {
	t.Helper()
	copied := copyOf(original)
	if same, ok := copied.(*T); ok {
		if diff := cmp.Diff(want, same); diff != "" {
			t.Errorf("copy (-want +got):\n%s", diff)
		}
	}
	overwrite(reflect.ValueOf(copied))
	if diff := cmp.Diff(want, original); diff != "" {
		t.Errorf("original after the copy was overwritten (-want +got):\n%s", diff)
	}
}

// overwrite sets all memory that v reaches through pointers, slices and maps to
// zero, except the JSON of schemas.
func overwrite(v reflect.Value) {
	if v.Type() == reflect.TypeFor[definition.CustomResourceValidation]() {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			overwrite(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				overwrite(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			overwrite(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		v.Clear()
	}
}

// No schema makes validation panic, and a schema that is valid can be compiled
// and published.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`[false]`, `null`, `{}`, `true`, `{"type":"object","properties":{"a":{"type":"string","default":1}}}`,
		`{"properties":{"a":{"patternProperties":{"(":{}},"x-kubernetes-validations":[{"rule":"self"}]}}}`,
		`{"type":"object","properties":{"metadata":{"properties":{"name":{"anyOf":[{"type":"string"}]}}}},` +
			`"items":[{},{"items":[]}],"additionalItems":false}`,
		`{"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":"set","items":{"x-kubernetes-embedded-resource":true}}}}`,
		`{"allOf":[{"x-kubernetes-int-or-string":true,"not":{"properties":{"kind":{"enum":[null]}}}}],` +
			`"maximum":1e400,"x-kubernetes-no-prune":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		crd := read(t, widgets(`{type: object}`))
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema = raw
		crd.Annotations = map[string]string{definition.ShowSkeletonAnnotation: "true"}
		definition.DropUnknown(crd)
		w := definition.Write{APIVersion: definition.V1}
		w.Prepare(crd)
		errs := w.Validate(t.Context(), crd)
		w.Warnings(crd)
		definition.NonStructural(crd)
		versions, err := definition.Compile(crd)
		if len(errs) > 0 {
			if model, err := definition.Publish(crd, "v1"); err == nil {
				model.OpenAPIV3()
			}
			return
		}
		if err != nil {
			t.Fatalf("accepted, but does not compile: %v", err)
		}
		c := versions["v1"]
		model := published(t, crd)
		encodable(t, model.OpenAPIV2(), model.OpenAPIV3())
		c.Validate(t.Context(), yamltest.Map(t, `{apiVersion: example.com/v1, kind: Widget, a: {b: [1]}}`), nil)
		if _, err := definition.Typed(crd); err != nil {
			t.Fatalf("accepted, but has no typed form: %v", err)
		}
		again := definition.Write{APIVersion: definition.V1, Old: crd}
		if errs := again.Validate(t.Context(), crd); len(errs) > 0 {
			t.Errorf("accepted, but refused when nothing changes: %v", errs)
		}
	})
}
