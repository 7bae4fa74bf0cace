package garbage

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// object holds the fields of an object that the collector needs. It is immutable: a change
// of the object creates a new one.
type object struct {
	kind            *kind
	namespace, name string
	uid             types.UID
	version         string
	owners          []metav1.OwnerReference
	// deleting says that the object has a deletionTimestamp.
	deleting bool
	// orphan and foreground say that the object has the finalizer orphan or
	// foregroundDeletion.
	orphan, foreground bool
}

// newObject returns what the collector needs of an object. It shares the owner references.
func newObject(k *kind, meta metav1.Object) *object {
	finalizers := meta.GetFinalizers()
	return &object{
		kind:       k,
		namespace:  meta.GetNamespace(),
		name:       meta.GetName(),
		uid:        meta.GetUID(),
		version:    meta.GetResourceVersion(),
		owners:     meta.GetOwnerReferences(),
		deleting:   meta.GetDeletionTimestamp() != nil,
		orphan:     slices.Contains(finalizers, metav1.FinalizerOrphanDependents),
		foreground: slices.Contains(finalizers, metav1.FinalizerDeleteDependents),
	}
}

// objectKey identifies an object without its UID.
type objectKey struct {
	schema.GroupKind
	namespace, name string
}

// ownerKey identifies the owner of this kind to which a reference of an object refers.
func (k *kind) ownerKey(o *object, ref metav1.OwnerReference) objectKey {
	key := objectKey{GroupKind: k.groupKind(), name: ref.Name}
	if k.namespaced {
		key.namespace = o.namespace
	}
	return key
}

func (o *object) key() objectKey {
	return objectKey{GroupKind: o.kind.groupKind(), namespace: o.namespace, name: o.name}
}

// waitsForDependents reports whether the object is deleted in the foreground, so that its
// deletion waits for its dependents.
func (o *object) waitsForDependents() bool { return o.deleting && o.foreground }

// isOwnerOf reports whether the reference of the dependent refers to the object: it has
// the UID, the name and the kind of the object, in any version, and the object is
// cluster-scoped or in the namespace of the dependent.
func (o *object) isOwnerOf(dependent *object, ref metav1.OwnerReference) bool {
	return o.uid == ref.UID && o.name == ref.Name && o.kind.groupKind() == groupKindOf(ref) &&
		(o.namespace == "" || o.namespace == dependent.namespace)
}

// blocks reports whether the object blocks the foreground deletion of the owner.
func (o *object) blocks(owner types.UID) bool {
	return slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool {
		return ref.UID == owner && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
	})
}

func (o *object) hasOwner(owner types.UID) bool {
	return slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool { return ref.UID == owner })
}

// groupKindOf returns the kind in a reference. If the apiVersion cannot be parsed, it
// returns a group that does not exist.
func groupKindOf(ref metav1.OwnerReference) schema.GroupKind {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		gv.Group = ref.APIVersion
	}
	return schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
}
