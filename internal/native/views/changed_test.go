package views_test

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// TestChangedKinds checks, for objects of all built-in kinds with random changes, that history finds the same changes in the results of
// Changed as in the whole contents.
func TestChangedKinds(t *testing.T) {
	types, scheme := views.New(), native.NewScheme()
	source := rand.NewSource(2)
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, source, serializer.NewCodecFactory(scheme))
	random := rand.New(source)
	for _, kind := range native.Kinds() {
		gvk := kind.GroupVersionKind()
		t.Run(gvk.Kind, func(t *testing.T) {
			lists, changes := types.Of(gvk.GroupKind()).Lists(), 0
			for range 20 {
				live, other := kind.Object.DeepCopyObject(), kind.Object.DeepCopyObject()
				filler.Fill(live)
				filler.Fill(other)
				updated := live.DeepCopyObject()
				mix(random, reflect.ValueOf(updated).Elem(), reflect.ValueOf(other).Elem())
				changes += compareChanges(t, lists, live, updated)
			}
			if changes == 0 {
				t.Error("no change was found in any object")
			}
		})
	}
}

// compareChanges compares the changes between two objects as package fieldhistory finds them with Changed and with Content. It returns their
// number.
func compareChanges(t *testing.T, lists ownership.Lists, live, updated runtime.Object) int {
	t.Helper()
	content := func(obj runtime.Object) map[string]any {
		whole, err := views.Content(obj)
		if err != nil {
			t.Fatal(err)
		}
		return fieldhistory.Content(whole)
	}
	kept := views.Bare(live)
	wholeLive, wholeUpdated := content(live), content(updated)
	before, after, err := views.Changed(kept, updated)
	if err != nil {
		t.Fatal(err)
	}
	options := fieldhistory.Options{Lists: lists, Limit: 200}
	want := fieldhistory.Diff(wholeLive, wholeUpdated, options)
	if diff := cmp.Diff(want, fieldhistory.Diff(before, after, options)); diff != "" {
		t.Errorf("changes (-whole +changed):\n%s", diff)
	}
	fingerprint := fieldhistory.FingerprintAfter(fieldhistory.Fingerprint(wholeLive), before, after)
	if fingerprint != fieldhistory.Fingerprint(wholeUpdated) {
		t.Error("the fingerprint is another one")
	}
	return len(want)
}

// TestChangedTexts has maps with unusual keys, which history takes as one value, and maps that become empty.
func TestChangedTexts(t *testing.T) {
	long := strings.Repeat("x", 400)
	maps := []map[string]string{
		nil,
		{},
		{"a": "1"},
		{"a": "1", "b": "2"},
		{"a": "2", "c": "3"},
		{"a": "2", "c": "3", long: "1"},
		{"a": "2", "c": "3", long: "2"},
		{"a": "1", "\xff": "1"},
		{"a": "2", "\xff": "1"},
		{"a": "1", "\xff": "2"},
		{"a": "1", "x…y": "2"},
		{"a": "1", "x…y": "3"},
	}
	lists := views.New().Of(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind()).Lists()
	for _, old := range maps {
		for _, updated := range maps {
			live := &corev1.ConfigMap{Data: old}
			live.Name, live.Labels = "a", old
			after := live.DeepCopy()
			after.Data, after.Annotations = updated, updated
			compareChanges(t, lists, live, after)
		}
	}
	live := &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}}
	live.ResourceVersion, live.Generation = "1", 1
	updated := live.DeepCopy()
	updated.ResourceVersion, updated.Generation, updated.Data["a"] = "2", 2, "3"
	before, after, err := views.Changed(views.Bare(live), updated)
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{"data": map[string]any{"a": "1"}}, {"data": map[string]any{"a": "3"}}}
	if diff := cmp.Diff(want, []map[string]any{before, after}); diff != "" {
		t.Errorf("contents (-want +got):\n%s", diff)
	}
}
