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

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// TestDifferingKinds checks, for objects of all built-in kinds with random changes, that the
// check of ownership has the same result with Differing and with Content.
func TestDifferingKinds(t *testing.T) {
	types, scheme := views.New(), native.NewScheme()
	source := rand.NewSource(1)
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, source, serializer.NewCodecFactory(scheme))
	random := rand.New(source)
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		t.Run(gvk.Kind, func(t *testing.T) {
			typ, changed := types.Of(gvk.GroupKind()), 0
			for range 20 {
				live, other := kind.Object.DeepCopyObject(), kind.Object.DeepCopyObject()
				filler.Fill(live)
				filler.Fill(other)
				updated := live.DeepCopyObject()
				mix(random, reflect.ValueOf(updated).Elem(), reflect.ValueOf(other).Elem())
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

// mix copies random parts of other to v, at any depth.
func mix(random *rand.Rand, v, other reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct && random.Intn(4) > 0:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Name != "Status" {
				mix(random, v.Field(i), other.Field(i))
			}
		}
	case v.Kind() == reflect.Pointer && !v.IsNil() && !other.IsNil() && random.Intn(4) > 0:
		mix(random, v.Elem(), other.Elem())
	case random.Intn(3) == 0:
		v.Set(other)
	}
}

// annotateTyped gives both objects the same name and a last-applied annotation with all fields
// of live.
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

// compareJudgements compares the check of an update with Differing and with Content, and
// returns the number of changed fields and findings.
func compareJudgements(t *testing.T, typ *ownership.Type, live, updated runtime.Object) int {
	t.Helper()
	lines := compareContents(t, live, updated, func(live, updated map[string]any) []string {
		for _, content := range []map[string]any{live, updated} {
			delete(content, "apiVersion")
			delete(content, "kind")
		}
		verdict := ownership.Judge(ownership.Write{
			Type: typ, Live: live, New: updated, Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl patch"}),
		}, nil)
		lines := show(typ.Changed(live, updated, 1000))
		for _, f := range verdict.Findings {
			lines = append(lines, f.Path.String()+": "+verdict.Show(f.Live)+" to "+verdict.Show(f.New))
		}
		return append(lines, verdict.Note)
	})
	return len(lines) - 1
}

// compareContents calls check with the results of Content and with those of Differing. Both
// must have the same result, which it returns, and neither may change the objects.
func compareContents(
	t *testing.T, live, updated runtime.Object, check func(live, updated map[string]any) []string,
) []string {
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
	differingLive, differingUpdated, err := views.Differing(live, updated)
	if err != nil {
		t.Fatal(err)
	}
	want := check(wholeLive, wholeUpdated)
	if diff := cmp.Diff(want, check(differingLive, differingUpdated)); diff != "" {
		t.Errorf("(-whole +differing):\n%s", diff)
	}
	if !reflect.DeepEqual(liveBefore, live) || !reflect.DeepEqual(updatedBefore, updated) {
		t.Error("an object was changed")
	}
	return want
}
