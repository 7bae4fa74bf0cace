package garbage_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/admission/keep"
)

// modelState is the state of an owner reference in the store.
type modelState int

const (
	// invalid: the object is cluster-scoped, and its owner is namespaced. The collector leaves the object alone.
	invalid modelState = iota
	absent
	exists
	waits
)

// ownerKey returns the place to which an owner reference of an object refers, and whether the reference is valid.
func ownerKey(o *modelMeta, ref metav1.OwnerReference) (modelKey, bool) {
	for _, k := range modelKinds {
		if k.kind != ref.Kind {
			continue
		}
		if !k.namespaced {
			return modelKey{ref.Kind, "", ref.Name}, true
		}
		return modelKey{ref.Kind, o.Namespace, ref.Name}, o.Namespace != ""
	}
	return modelKey{}, false
}

// state returns the state of an owner reference.
func (s *modelStore) state(o *modelMeta, ref metav1.OwnerReference) modelState {
	key, valid := ownerKey(o, ref)
	owner := s.objects[key]
	switch {
	case !valid:
		return invalid
	case owner == nil || owner.UID != ref.UID:
		return absent
	case owner.DeletionTimestamp != nil && hasFinalizer(owner, metav1.FinalizerDeleteDependents):
		return waits
	}
	return exists
}

// judge records an error if the collector deletes an object that must stay.
func (s *modelStore) judge(key modelKey) {
	o := s.objects[key]
	wrong := func(format string, args ...any) {
		if s.wrong == nil {
			s.wrong = fmt.Errorf("the collector deletes %s (%s): %w", key, o.UID, fmt.Errorf(format, args...))
		}
	}
	if len(o.OwnerReferences) == 0 {
		wrong("it has no owners")
	}
	for _, ref := range o.OwnerReferences {
		record, replaced := s.records[ref.UID]
		switch state := s.state(o, ref); {
		case state == invalid:
			wrong("its reference to %s %s is not valid", ref.Kind, ref.Name)
		// The owner may have begun to wait, and then not any more, since the collector saw it.
		case state == exists && !s.waited[ref.UID]:
			wrong("its owner %s %s exists", ref.Kind, ref.Name)
		case state == absent && replaced && record.Names(ref, o.Namespace):
			wrong("its owner %s %s was replaced", ref.Kind, ref.Name)
		case state == absent && s.orphaned[o.UID][ref.UID] && !s.waited[ref.UID]:
			wrong("its owner %s %s was deleted with the policy Orphan when the object existed", ref.Kind, ref.Name)
		}
	}
}

// atRest returns what is wrong when the collector has nothing to do any more.
func (s *modelStore) atRest() error {
	for _, key := range sortedKeys(s.objects) {
		o := s.objects[key]
		excused := hasFinalizer(o, metav1.FinalizerDeleteDependents) && s.mayWait(o, map[types.UID]bool{})
		if o.DeletionTimestamp != nil && !excused {
			return fmt.Errorf("%s is still being deleted, with the finalizers %v", key, o.Finalizers)
		}
		count := map[modelState]int{}
		for _, ref := range o.OwnerReferences {
			count[s.state(o, ref)]++
		}
		switch {
		case count[invalid] > 0, len(o.OwnerReferences) == 0, o.DeletionTimestamp != nil:
		case count[exists] == 0 && o.Annotations[keep.Annotation] == "":
			return fmt.Errorf("%s is garbage, and exists: %v", key, o.OwnerReferences)
		case count[exists] > 0 && count[absent] > 0:
			return fmt.Errorf("%s has a reference to an owner that does not exist: %v", key, o.OwnerReferences)
		}
	}
	return nil
}

// mayWait reports whether an object that is deleted in the foreground may wait for ever: for a dependent that the collector
// leaves alone, because one of its references is not valid, or in a cycle of objects that users delete in the foreground, which wait for each
// other. path are the objects that wait for the object.
func (s *modelStore) mayWait(owner *modelMeta, path map[types.UID]bool) bool {
	if path[owner.UID] {
		return true
	}
	path[owner.UID] = true
	defer delete(path, owner.UID)
	for _, o := range s.objects {
		blocks, invalidRef := false, false
		for _, ref := range o.OwnerReferences {
			invalidRef = invalidRef || s.state(o, ref) == invalid
			blocks = blocks || ref.UID == owner.UID && *ref.BlockOwnerDeletion
		}
		if !blocks || owner.Namespace != "" && o.Namespace == "" {
			continue
		}
		if o.DeletionTimestamp == nil && invalidRef {
			return true
		}
		if o.DeletionTimestamp != nil && hasFinalizer(o, metav1.FinalizerDeleteDependents) && s.mayWait(o, path) {
			return true
		}
	}
	return false
}
