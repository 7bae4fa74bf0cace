package node

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"
)

// pinSaved pins the pod to the saved object with this UID and returns the object. It
// returns nil if no such object is saved or its content was damaged on disk.
func (r *resolver) pinSaved(n lookup, uid types.UID) *Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.pinned[uid]
	if kept == nil {
		return nil
	}
	object, err := r.state.Object(uid)
	if err != nil || r.digest.object(object) != kept.digest {
		return nil // the caller reads it from the server again
	}
	kept.pods[n.uid] = true
	r.space.add(spacePart{namespace: n.ref.Namespace, owner: uid}, objectSize(object))
	return object
}

// pinNew saves an immutable object on disk and pins the pod to it. It has to succeed
// before the pod gets the content.
func (r *resolver) pinNew(n lookup, object *Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.space.reserve(spacePart{namespace: n.ref.Namespace, owner: object.UID}, objectSize(object)); err != nil {
		return err
	}
	if err := r.state.SaveObject(object); err != nil {
		return fmt.Errorf("save %s: %w", object.Ref, err)
	}
	kept := r.pinned[object.UID]
	if kept == nil {
		kept = &pinnedObject{ref: object.Ref, digest: r.digest.object(object), pods: map[types.UID]bool{}}
		r.pinned[object.UID] = kept
	}
	kept.pods[n.uid] = true
	return nil
}

// addPins adds the pins of a record that was loaded from disk.
func (r *resolver) addPins(record *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, source := range record.Sources {
		if !source.Immutable {
			continue
		}
		kept := r.pinned[source.UID]
		if kept == nil {
			kept = &pinnedObject{ref: source.Ref, digest: source.Digest, pods: map[types.UID]bool{}}
			r.pinned[source.UID] = kept
		}
		kept.pods[record.UID] = true
	}
}

// deleteUnpinned deletes the saved objects that no record is pinned to. An object
// remains without a record if the agent stopped before it saved the record.
func (r *resolver) deleteUnpinned() error {
	uids, err := r.state.Objects()
	if err != nil {
		return err
	}
	for _, uid := range uids {
		if r.pinned[uid] == nil {
			if err := r.state.DeleteObject(uid); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpin removes all pins of a pod, and deletes the saved objects that no other pod is
// pinned to.
func (r *resolver) unpin(pod types.UID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var failed []error
	for uid, kept := range r.pinned {
		if !kept.pods[pod] {
			continue
		}
		delete(kept.pods, pod)
		if len(kept.pods) > 0 {
			continue
		}
		delete(r.pinned, uid)
		r.space.release(kept.ref.Namespace, uid)
		if err := r.state.DeleteObject(uid); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// isPinned reports whether any pod of this node is pinned to an object of this name.
func (r *resolver) isPinned(ref Ref) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, kept := range r.pinned {
		if kept.ref == ref {
			return true
		}
	}
	return false
}

// lock lets only one goroutine at a time read the object of a name. The others then
// find the object that the first one saved.
func (r *resolver) lock(ref Ref) (unlock func()) {
	r.mu.Lock()
	one := r.readLocks[ref]
	if one == nil {
		one = &readLock{}
		r.readLocks[ref] = one
	}
	one.users++
	r.mu.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(r.readLocks, ref)
		}
	}
}
