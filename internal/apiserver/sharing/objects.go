package sharing

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
)

const (
	// limit is the size, as stored, of all objects that Objects remembers. Most of them are in a watch cache too, so that they take no
	// memory of their own.
	limit = 4 << 20
	// largest is the size of the largest object that Objects remembers.
	largest = 64 << 10
)

// Objects remembers objects, with which later ones may share parts. It is safe for concurrent use. A nil *Objects shares nothing.
type Objects struct {
	earlier *bounded.Cache[key, runtime.Object]
	structs structs
}

// key finds an earlier object: the version before, by the UID of an object, or the last object of an owner, by the UID of the owner. The
// last object of a resource has no UID in its key.
type key struct {
	resource schema.GroupResource
	uid      types.UID
}

func newObjects() *Objects {
	return &Objects{earlier: bounded.New(bounded.Config[key, runtime.Object]{Name: "shared-objects", Limit: limit, Largest: largest})}
}

// Caches returns the cache of the earlier objects, for metrics.
func (o *Objects) Caches() []bounded.Measured {
	if o == nil {
		return nil
	}
	return []bounded.Measured{o.earlier}
}

// Share lets an object share parts with the version before, or else with the last object of its owner or of its resource. The
// object must be a pointer to a struct with a protobuf encoding, as those of built-in kinds are; Share leaves others as they are. The
// caller must be the only user of the object, and no code may change it afterwards.
func (o *Objects) Share(resource schema.GroupResource, obj runtime.Object) {
	keys, size := o.share(resource, obj)
	o.remember(keys, obj, size)
}

// ShareCopy lets a copy of an object share its parts with that object, or else as Share does. It does not remember the copy: the object that it
// remembers belongs to the watch cache, which keeps it anyway.
func (o *Objects) ShareCopy(resource schema.GroupResource, obj runtime.Object) {
	o.share(resource, obj)
}

// ShareItem is Share for an item of a list. To remember the item itself would keep the memory of all items of the list.
func (o *Objects) ShareItem(resource schema.GroupResource, item runtime.Object) {
	keys, size := o.share(resource, item)
	if len(keys) == 0 {
		return
	}
	remembered := reflect.New(reflect.TypeOf(item).Elem())
	remembered.Elem().Set(reflect.ValueOf(item).Elem())
	if obj, ok := remembered.Interface().(runtime.Object); ok {
		o.remember(keys, obj, size)
	}
}

// share shares parts of an object, and returns the keys under which to remember it and its size as stored.
func (o *Objects) share(resource schema.GroupResource, obj runtime.Object) (keys []key, size int) {
	sized, ok := obj.(interface{ Size() int })
	accessor, err := meta.Accessor(obj)
	if o == nil || !ok || err != nil {
		return nil, 0
	}
	// Size also writes the text of quantities into the object, except those in lists and maps. After that, no reader of the object does.
	size = sized.Size()
	keys = append(keys, key{resource, accessor.GetUID()})
	if owner := metav1.GetControllerOfNoCopy(accessor); owner != nil {
		keys = append(keys, key{resource, owner.UID})
	}
	keys = append(keys, key{resource: resource})
	for _, k := range keys {
		if earlier, ok := o.earlier.Get(k, func(runtime.Object) bool { return true }); ok {
			o.structs.share(reflect.ValueOf(obj).Elem(), reflect.ValueOf(earlier).Elem())
			break
		}
	}
	return keys, size
}

func (o *Objects) remember(keys []key, obj runtime.Object, size int) {
	for _, k := range keys {
		o.earlier.Add(k, obj, size)
	}
}
