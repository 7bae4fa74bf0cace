package node

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"
)

// pin returns an object that is kept here, now for this pod too. It is nil if
// there is none, or its content is not what it was.
func (r *resolver) pin(n need, uid types.UID) *Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.pinned[uid]
	if kept == nil {
		return nil
	}
	object, err := r.state.Object(uid)
	if err != nil || r.digest.object(object) != kept.digest {
		return nil // it is read again, as one that never was here
	}
	kept.pods[n.uid] = true
	return object
}

// keep saves an immutable object for a pod, before the pod gets it.
func (r *resolver) keep(n need, object *Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
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

// remember takes over what a record says is pinned.
func (r *resolver) remember(record *Record) {
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

// collect removes content that no record is pinned to: it was saved for a pod
// that then did not get it.
func (r *resolver) collect() error {
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

// release lets go of what a pod was pinned to. Content that no pod has any more
// is removed.
func (r *resolver) release(pod types.UID) error {
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
		if err := r.state.DeleteObject(uid); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

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

// lock makes readers of one name wait for each other.
func (r *resolver) lock(ref Ref) (unlock func()) {
	r.mu.Lock()
	one := r.reading[ref]
	if one == nil {
		one = &reading{}
		r.reading[ref] = one
	}
	one.users++
	r.mu.Unlock()
	one.Lock()
	return func() {
		one.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(r.reading, ref)
		}
	}
}
