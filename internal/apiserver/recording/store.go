package recording

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apistorage "k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/replacement"
)

// store is a storage that records the writes of one resource.
type store struct {
	apistorage.Interface
	recorder *Recorder
	// number is that of the storage, from 1 on.
	number   uint64
	resource schema.GroupResource
	contents contents
	newFunc  func() runtime.Object
}

// Create implements storage.Interface. A new object may replace another one, whose record ends.
func (s *store) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	is, swap := s.identify(obj), replacement.For(ctx, storage.KeyPrefix+key)
	if is.uid != "" && (is.on || swap != nil) {
		w := newWrite(ctx, s)
		w.operation, w.is = fieldhistory.Create, is
		var err error
		if swap != nil {
			w.operation = fieldhistory.Replace
			if w.was, err = s.remember(swap.Old); err != nil {
				return err
			}
		}
		if is.on {
			if w.after, err = s.content(ctx, is, obj); err != nil {
				return err
			}
		}
		ctx = etcd.WithPlan(ctx, w.plan)
	}
	err := s.Interface.Create(ctx, key, obj, out, ttl)
	if err == nil {
		s.see(out)
	}
	return err
}

// GuaranteedUpdate implements storage.Interface.
func (s *store) GuaranteedUpdate(
	ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, preconditions *apistorage.Preconditions,
	update apistorage.UpdateFunc, cached runtime.Object,
) error {
	w := newWrite(ctx, s)
	recorded := func(current runtime.Object, meta apistorage.ResponseMeta) (runtime.Object, *uint64, error) {
		// The function may change the current object in place.
		was, err := s.remember(current)
		if err != nil {
			return nil, nil, err
		}
		updated, ttl, err := update(current, meta)
		if err != nil {
			return updated, ttl, err
		}
		return updated, ttl, w.prepare(ctx, key, was, updated)
	}
	err := s.Interface.GuaranteedUpdate(etcd.WithPlan(ctx, w.plan), key, out, ignoreNotFound, preconditions, recorded, cached)
	if err == nil {
		s.see(out)
	}
	return err
}

// Delete implements storage.Interface.
func (s *store) Delete(
	ctx context.Context, key string, out runtime.Object, preconditions *apistorage.Preconditions,
	validate apistorage.ValidateObjectFunc, cached runtime.Object, options apistorage.DeleteOptions,
) error {
	w := newWrite(ctx, s)
	recorded := func(ctx context.Context, obj runtime.Object) error {
		if validate != nil {
			if err := validate(ctx, obj); err != nil {
				return err
			}
		}
		w.operation, w.was = fieldhistory.Delete, former{writtenObject: s.identify(obj)}
		if s.recorder.AfterDelete == 0 {
			return nil // the record goes with the object
		}
		var err error
		w.was, err = s.remember(obj)
		return err
	}
	return s.Interface.Delete(etcd.WithPlan(ctx, w.plan), key, out, preconditions, recorded, cached, options)
}

// writtenObject is the identity of an object, and whether the server records its writes.
type writtenObject struct {
	place
	uid     types.UID
	version string
	on      bool
}

func (i writtenObject) record() string { return i.place.record(i.uid) }

// identify returns the identity of an object.
func (s *store) identify(obj runtime.Object) writtenObject {
	accessor, ok := obj.(metav1.Object)
	if !ok {
		return writtenObject{}
	}
	is := writtenObject{
		place: place{s.resource, accessor.GetNamespace(), accessor.GetName()}, uid: accessor.GetUID(), version: accessor.GetResourceVersion(),
	}
	is.on = s.recorder.isOn(label(obj, accessor), is.namespace)
	return is
}

// label returns the value of the label of history, without a copy of all labels. It is nil if the object does not have the label.
func label(obj runtime.Object, accessor metav1.Object) any {
	if custom, ok := obj.(runtime.Unstructured); ok {
		metadata, _ := custom.UnstructuredContent()["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		return labels[fieldhistory.Label]
	}
	if v, ok := accessor.GetLabels()[fieldhistory.Label]; ok {
		return v
	}
	return nil
}

// isOn decides by the label of an object and its namespace.
func (r *Recorder) isOn(label any, namespace string) bool {
	if label != nil {
		return label == fieldhistory.LabelFields
	}
	return namespace != "" && r.namespaces.areOn(namespace)
}

// former is an object before a write.
type former struct {
	writtenObject
	// kept is nil if the object is not on.
	kept kept
}

// remember returns the object before a write.
func (s *store) remember(obj runtime.Object) (former, error) {
	was := former{writtenObject: s.identify(obj)}
	if !was.on || was.uid == "" {
		return was, nil
	}
	var err error
	if was.kept, err = s.contents.keep(obj); err != nil {
		return was, failure(was.place, err)
	}
	return was, nil
}

// content returns the content of an object.
func (s *store) content(ctx context.Context, is writtenObject, obj runtime.Object) (*content, error) {
	c, err := s.contents.of(obj)
	if err != nil {
		return nil, failure(is.place, err)
	}
	return s.seal(ctx, is.uid, c)
}

// seal returns a content with sealed values, if it is that of a Secret.
func (s *store) seal(ctx context.Context, uid types.UID, c *content) (*content, error) {
	if s.resource != secrets {
		return c, nil
	}
	key, err := s.recorder.key.get(ctx, s.recorder)
	if err != nil {
		return nil, err
	}
	return &content{c.apiVersion, fieldhistory.Seal{Key: key, UID: string(uid)}.Secret(c.values)}, nil
}

// see notes whether the objects of a namespace that was written are on. The observer of the namespaces learns of it later.
func (s *store) see(obj runtime.Object) {
	if s.resource == namespaceResource {
		s.recorder.namespaces.see(obj, s.Versioner())
	}
}
