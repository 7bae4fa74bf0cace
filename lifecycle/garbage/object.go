package garbage

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// object is what is kept of an object in the cluster. It is never changed: a
// change seen by a watch replaces it.
type object struct {
	kind            *kind
	namespace, name string
	uid             types.UID
	version         string
	owners          []metav1.OwnerReference
	// deleting says that the deletion began; orphan and foreground are the
	// finalizers that tell what becomes of the dependents.
	deleting, orphan, foreground bool
}

func newObject(k *kind, meta *metav1.PartialObjectMetadata) *object {
	return &object{
		kind:       k,
		namespace:  meta.Namespace,
		name:       meta.Name,
		uid:        meta.UID,
		version:    meta.ResourceVersion,
		owners:     meta.OwnerReferences,
		deleting:   meta.DeletionTimestamp != nil,
		orphan:     slices.Contains(meta.Finalizers, metav1.FinalizerOrphanDependents),
		foreground: slices.Contains(meta.Finalizers, metav1.FinalizerDeleteDependents),
	}
}

// place is where a reference says that its owner is.
type place struct {
	schema.GroupKind
	namespace, name string
}

func (o *object) place() place {
	return place{GroupKind: o.kind.groupKind(), namespace: o.namespace, name: o.name}
}

// awaits reports whether the deletion of an object waits for its dependents.
func (o *object) awaits() bool { return o.deleting && o.foreground }

// isNamedBy reports whether a dependent's reference leads to the object: it
// names its kind, in any version, and its name, and crosses no namespaces.
func (o *object) isNamedBy(dependent *object, ref metav1.OwnerReference) bool {
	return o.uid == ref.UID && o.name == ref.Name && o.kind.groupKind() == groupKindOf(ref) &&
		(o.namespace == "" || o.namespace == dependent.namespace)
}

// blocks reports whether an owner that awaits its dependents awaits this one.
func (o *object) blocks(owner types.UID) bool {
	return slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool {
		return ref.UID == owner && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
	})
}

func (o *object) hasOwner(owner types.UID) bool {
	return slices.ContainsFunc(o.owners, func(ref metav1.OwnerReference) bool { return ref.UID == owner })
}

// groupKindOf is the kind a reference names. A group that cannot be read is one
// that no server has.
func groupKindOf(ref metav1.OwnerReference) schema.GroupKind {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		gv.Group = ref.APIVersion
	}
	return schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
}
