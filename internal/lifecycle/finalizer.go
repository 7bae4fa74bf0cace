package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

// finalizer adds a finalizer to objects and removes it. It needs nothing but the metadata of
// an object, so the informers may drop everything else.
type finalizer struct {
	name string
	// add says that an object without the finalizer gets it.
	add bool
}

// isMissing reports whether an object should get the finalizer.
func (f finalizer) isMissing(obj metav1.Object) bool {
	return f.add && obj.GetDeletionTimestamp() == nil && !slices.Contains(obj.GetFinalizers(), f.name)
}

// holds reports whether the object is being deleted and has the finalizer.
func (f finalizer) holds(obj metav1.Object) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), f.name)
}

// watch enqueues an object when it has to get the finalizer, and when it is being deleted.
func (f finalizer) watch(informer cache.SharedIndexInformer, enqueue func(cache.ObjectName)) error {
	changed := func(obj any) {
		if object, ok := obj.(metav1.Object); ok && (f.isMissing(object) || f.holds(object)) {
			enqueue(cache.MetaObjectToName(object))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, newObj any) { changed(newObj) },
	})
	return err
}

// attach adds the finalizer to an object.
func (f finalizer) attach(ctx context.Context, objects metadata.ResourceInterface, obj metav1.Object) error {
	return f.write(ctx, objects, obj, append(slices.Clone(obj.GetFinalizers()), f.name))
}

// detach removes the finalizer from an object.
func (f finalizer) detach(ctx context.Context, objects metadata.ResourceInterface, obj metav1.Object) error {
	isOurs := func(name string) bool { return name == f.name }
	return f.write(ctx, objects, obj, slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), isOurs))
}

// write replaces the finalizers of an object. The server answers with a conflict if the
// object has changed since it was read; then the controller tries again.
func (f finalizer) write(ctx context.Context, objects metadata.ResourceInterface, obj metav1.Object, finalizers []string) error {
	patch := map[string]any{"metadata": map[string]any{
		"uid": obj.GetUID(), "resourceVersion": obj.GetResourceVersion(), "finalizers": finalizers,
	}}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, obj.GetName(), types.MergePatchType, data, metav1.PatchOptions{})
	return ignoreNotFound(fmt.Sprintf("write finalizer %s", f.name), err)
}
