package recording_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/yamltest"
)

// life is the states of the objects with one name, which are created, switched off and on, deleted with a finalizer and without one, and replaced.
type life struct {
	states  states
	checked int
}

// live makes random writes until ctx ends or the server is gone.
func (l *life) live(ctx context.Context, f fixture) {
	for ctx.Err() == nil {
		err := l.step(ctx, f)
		switch {
		case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
			f.Errorf("configmaps/life: %v", err)
			return
		default:
			return // the server is gone
		}
	}
}

// step makes one write.
func (l *life) step(ctx context.Context, f fixture) error {
	objects, value := f.Dynamic.Resource(configMaps).Namespace("default"), rand.Int64()
	live, err := objects.Get(ctx, "life", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return l.note(objects.Create(ctx, yamltest.Object(f, fmt.Sprintf(recorded, "life")), metav1.CreateOptions{}))
	} else if err != nil {
		return err
	}
	patch := func(text string) error {
		return l.note(objects.Patch(ctx, "life", types.MergePatchType, []byte(text), metav1.PatchOptions{}))
	}
	switch rand.IntN(10) {
	case 0:
		return patch(`{"metadata":{"labels":{"holdfast.dev/history":"none"}}}`)
	case 1:
		return patch(fmt.Sprintf(`{"metadata":{"labels":{"holdfast.dev/history":"fields"}},"data":{"on":"%d"}}`, value))
	case 2:
		return objects.Delete(ctx, "life", metav1.DeleteOptions{})
	case 3:
		if live.GetDeletionTimestamp() == nil {
			return patch(`{"metadata":{"finalizers":["example.com/wait"]}}`)
		}
		return patch(`{"metadata":{"finalizers":null}}`)
	case 4:
		if live.GetDeletionTimestamp() == nil && len(live.GetFinalizers()) == 0 {
			live.Object["data"] = map[string]any{"replaced": fmt.Sprint(value)}
			return l.note(f.replaced(ctx, live))
		}
	}
	return patch(fmt.Sprintf(`{"data":{"key-%d":"%d"}}`, rand.IntN(5), value))
}

// note keeps the state that a write has made. A write that removes the last finalizer of a deleted object removes the object; its answer has
// never been stored.
func (l *life) note(obj *unstructured.Unstructured, err error) error {
	if err == nil && (obj.GetDeletionTimestamp() == nil || len(obj.GetFinalizers()) > 0) {
		l.states.add(obj)
	}
	return err
}

// check takes all objects that the server has a history of back, entry by entry.
func (l *life) check(t *testing.T, f fixture) {
	t.Helper()
	var content map[string]any
	current, err := f.Dynamic.Resource(configMaps).Namespace("default").Get(t.Context(), "life", metav1.GetOptions{})
	switch {
	case err == nil:
		content = current.Object
	case !apierrors.IsNotFound(err):
		t.Fatal(err)
	}
	list, _, err := read(t.Context(), f.Config, pathOf(configMaps, "life"), "")
	if apierrors.IsNotFound(err) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	lists := []fieldhistory.List{list}
	for _, uid := range list.OtherUIDs {
		other, _, err := read(t.Context(), f.Config, pathOf(configMaps, "life"), uid)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, other)
	}
	for _, list := range lists {
		is := content
		if list.Deleted != nil {
			is = nil
		} else if fmt.Sprintf("%x", fieldhistory.Fingerprint(fieldhistory.Content(is))) != list.Fingerprint {
			continue // the object is off, and has changed since
		}
		if err := l.states.check(list, is); err != nil {
			t.Fatalf("%s: %v", list.UID, err)
		}
		l.checked += len(list.Items)
	}
}
