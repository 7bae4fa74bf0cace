package live

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/internal/definition/preview"
	"holdfast.dev/holdfast/internal/replacement"
)

// relative is an object with owners.
type relative struct {
	kind     string
	resource runtimeschema.GroupVersionResource
	metadata metav1.ObjectMeta
}

// refersTo reports whether the object has an owner reference with a UID.
func (r relative) refersTo(owner types.UID) bool {
	return slices.ContainsFunc(r.metadata.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner })
}

// child returns the object as a plan names it. The namespace of its owner is not named.
func (r relative) child(ownerNamespace string) preview.Child {
	child := preview.Child{Kind: r.kind, Name: r.metadata.Name}
	if ownerNamespace == "" {
		child.Namespace = r.metadata.Namespace
	}
	return child
}

// keep makes the plan one in which the dependents of the object stay.
func (p *Planner) keep(d *draft) {
	live := unstructured.Unstructured{Object: d.live()}
	for _, one := range p.family.read[live.GetNamespace()].all {
		if one.refersTo(live.GetUID()) {
			d.dependents = append(d.dependents, one)
			d.Stay = append(d.Stay, one.child(live.GetNamespace()))
		}
	}
	d.Loss.Children, d.Adopted = nil, p.Dependents == replacement.Adopt
}

const (
	// awaitTimeout bounds the time that a client waits for the garbage collector, and awaitInterval is the time between two looks.
	awaitTimeout  = 30 * time.Second
	awaitInterval = 200 * time.Millisecond
	// readSingly is up to how many dependents are read one by one. More are read with lists.
	readSingly = 50
)

// Await waits until the dependents that the plan has found do not refer to the old object any more, which the garbage collector of the server
// sees to. It returns those that do not, and those that may still do when the time is up.
func (r Replacement) Await(ctx context.Context) (done, pending []preview.Child) {
	left := map[types.UID]relative{}
	for _, one := range r.dependents {
		left[one.metadata.UID] = one
	}
	// The error says only that the time is up.
	_ = wait.PollUntilContextTimeout(ctx, awaitInterval, awaitTimeout, true, func(ctx context.Context) (bool, error) {
		maps.DeleteFunc(left, r.changed(ctx, left))
		return len(left) == 0, nil
	})
	for _, one := range r.dependents {
		child := one.child(r.in.GetNamespace())
		if _, found := left[one.metadata.UID]; found {
			pending = append(pending, child)
		} else {
			done = append(done, child)
		}
	}
	return done, pending
}

// changed returns a function that reports whether a dependent is gone, or does not refer to the old object any more. One that cannot be read may.
func (r Replacement) changed(ctx context.Context, left map[types.UID]relative) func(types.UID, relative) bool {
	if len(left) <= readSingly {
		return func(_ types.UID, one relative) bool {
			object, err := r.family.client.Resource(one.resource).Namespace(one.metadata.Namespace).Get(ctx, one.metadata.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err) || err == nil && !relative{metadata: object.ObjectMeta}.refersTo(r.UID)
		}
	}
	type place struct {
		resource  runtimeschema.GroupVersionResource
		namespace string
	}
	read, refers := map[place]bool{}, map[types.UID]bool{}
	for _, one := range left {
		at := place{one.resource, one.metadata.Namespace}
		if _, known := read[at]; known {
			continue
		}
		list, err := r.family.listOne(ctx, at.resource, at.namespace)
		read[at] = err == nil
		for i := range list {
			refers[list[i].UID] = relative{metadata: list[i].ObjectMeta}.refersTo(r.UID)
		}
	}
	return func(uid types.UID, one relative) bool {
		return read[place{one.resource, one.metadata.Namespace}] && !refers[uid]
	}
}
