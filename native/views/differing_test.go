package views_test

import (
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"holdfast.dev/holdfast/native"
	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// TestDifferingKinds holds, for objects of every built-in kind and changes
// anywhere in them, that a judgement is the same with and without what is equal.
func TestDifferingKinds(t *testing.T) {
	types, scheme := views.New(), native.NewScheme()
	source := rand.NewSource(1)
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, source, serializer.NewCodecFactory(scheme))
	chance := rand.New(source)
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		t.Run(gvk.Kind, func(t *testing.T) {
			typ, changed := types.Of(gvk.GroupKind()), 0
			for range 20 {
				live, other := kind.Object.DeepCopyObject(), kind.Object.DeepCopyObject()
				filler.Fill(live)
				filler.Fill(other)
				updated := live.DeepCopyObject()
				mix(chance, reflect.ValueOf(updated).Elem(), reflect.ValueOf(other).Elem())
				annotateTyped(t, live, updated)
				if compareJudgements(t, typ, live, updated) > 0 {
					changed++
				}
			}
			if changed == 0 {
				t.Error("no change was found in any object")
			}
		})
	}
}

// mix takes some of another value, at any depth.
func mix(chance *rand.Rand, v, other reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct && chance.Intn(4) > 0:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "Status" {
				mix(chance, v.Field(i), other.Field(i))
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil() && !other.IsNil() && chance.Intn(4) > 0:
		mix(chance, v.Elem(), other.Elem())
	case chance.Intn(3) == 0:
		v.Set(other)
	}
}

// annotateTyped lets apply own all of an object, and gives both one name.
func annotateTyped(t *testing.T, live, updated runtime.Object) {
	t.Helper()
	content, err := views.Content(live)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "apiVersion")
	delete(content, "kind")
	applied := string(encode(t, content))
	for _, obj := range []runtime.Object{live, updated} {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			t.Fatal(err)
		}
		accessor.SetName("it")
		accessor.SetUID("1")
		annotations := map[string]string{ownership.LastApplied: applied}
		for key, value := range accessor.GetAnnotations() {
			annotations[key] = value
		}
		accessor.SetAnnotations(annotations)
	}
}

func compareJudgements(t *testing.T, typ *ownership.Type, live, updated runtime.Object) int {
	t.Helper()
	liveBefore, updatedBefore := live.DeepCopyObject(), updated.DeepCopyObject()
	wholeLive, err := views.Content(live)
	if err != nil {
		t.Fatal(err)
	}
	wholeUpdated, err := views.Content(updated)
	if err != nil {
		t.Fatal(err)
	}
	thinLive, thinUpdated, err := views.Differing(live, updated)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []map[string]any{wholeLive, wholeUpdated, thinLive, thinUpdated} {
		delete(content, "apiVersion")
		delete(content, "kind")
	}
	judge := func(live, updated map[string]any) []string {
		verdict := ownership.Judge(ownership.Write{
			Type: typ, Live: live, New: updated, Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl patch"}),
		}, nil)
		lines := show(typ.Changed(live, updated, 1000))
		for _, f := range verdict.Findings {
			lines = append(lines, f.Path.String()+": "+verdict.Show(f.Live)+" to "+verdict.Show(f.New))
		}
		return append(lines, verdict.Note)
	}
	want := judge(wholeLive, wholeUpdated)
	if diff := cmp.Diff(want, judge(thinLive, thinUpdated)); diff != "" {
		t.Errorf("judged (-whole +differing):\n%s", diff)
	}
	if !reflect.DeepEqual(liveBefore, live) || !reflect.DeepEqual(updatedBefore, updated) {
		t.Error("an object was changed")
	}
	return len(want) - 1
}
