package garbage_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/replacement"
)

const (
	userFinalizer = "example.com/user"
	// rememberedFor is how long users set references to an object that does not exist any more.
	rememberedFor = 10 * time.Minute
)

// modelUser writes to the store.
type modelUser struct{ *modelStore }

// act does one write, and returns what it was.
func (u modelUser) act(r *rand.Rand) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	keys := sortedKeys(u.objects)
	if len(keys) == 0 || r.IntN(3) == 0 {
		return u.create(r)
	}
	key := keys[r.IntN(len(keys))]
	o := u.objects[key]
	switch r.IntN(8) {
	case 0, 1, 2:
		policies := []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		}
		policy := policies[r.IntN(len(policies))]
		if u.delete(key, metav1.DeleteOptions{PropagationPolicy: &policy}) != nil {
			return ""
		}
		return fmt.Sprintf("deletes %s with the policy %s", key, policy)
	case 3:
		ref := u.reference(r)
		if ref == nil || ref.UID == o.UID {
			return ""
		}
		u.own(key, *ref)
		return fmt.Sprintf("adopts %s with the owner %s", key, refText(*ref))
	case 4:
		if len(o.OwnerReferences) == 0 {
			return ""
		}
		u.change(key, func(o *modelMeta) { o.OwnerReferences = o.OwnerReferences[1:] })
		return fmt.Sprintf("releases %s from its first owner", key)
	case 5:
		return u.keep(key)
	case 6:
		return u.finalize(key)
	default:
		if o.DeletionTimestamp != nil || o.Annotations[keep.Annotation] != "" {
			return ""
		}
		all := []replacement.Dependents{replacement.Collect, replacement.Orphan, replacement.Adopt}
		dependents := all[r.IntN(len(all))]
		u.replace(key, dependents)
		return fmt.Sprintf("replaces %s by %s, dependents: %q", key, u.objects[key].UID, dependents)
	}
}

func refText(ref metav1.OwnerReference) string {
	return fmt.Sprintf("%s %s (%s), blocks %t", ref.Kind, ref.Name, ref.UID, *ref.BlockOwnerDeletion)
}

// create creates an object at a free place.
func (u modelUser) create(r *rand.Rand) string {
	k := modelKinds[r.IntN(len(modelKinds))]
	key := modelKey{kind: k.kind, name: string(rune('a' + r.IntN(4)))}
	if k.namespaced {
		key.namespace = []string{"east", "west"}[r.IntN(2)]
	}
	if u.objects[key] != nil {
		return ""
	}
	var finalizers []string
	switch r.IntN(16) {
	case 0, 1:
		finalizers = []string{userFinalizer}
	case 2:
		finalizers = []string{metav1.FinalizerOrphanDependents}
	case 3:
		finalizers = []string{metav1.FinalizerDeleteDependents}
	}
	o := u.newObject(key, nil, finalizers)
	text := fmt.Sprintf("creates %s (%s), finalizers %v", key, o.UID, finalizers)
	for range r.IntN(3) {
		ref := u.reference(r)
		if ref == nil || slices.ContainsFunc(o.OwnerReferences, func(other metav1.OwnerReference) bool { return other.UID == ref.UID }) {
			continue
		}
		o.OwnerReferences = append(o.OwnerReferences, *ref)
		text += ", owner " + refText(*ref)
	}
	u.put(key, o, "ADDED")
	return text
}

// reference returns a reference to an object that exists, or did not long ago. Sometimes it has another name.
func (u modelUser) reference(r *rand.Rand) *metav1.OwnerReference {
	var uids []types.UID
	for _, uid := range slices.Sorted(maps.Keys(u.keys)) {
		if end, gone := u.gone[uid]; !gone || time.Since(end) < rememberedFor && r.IntN(4) == 0 {
			uids = append(uids, uid)
		}
	}
	if len(uids) == 0 {
		return nil
	}
	uid := uids[r.IntN(len(uids))]
	key, blocks := u.keys[uid], r.IntN(2) == 0
	ref := &metav1.OwnerReference{APIVersion: modelGroup + "/v1", Kind: key.kind, Name: key.name, UID: uid, BlockOwnerDeletion: &blocks}
	if r.IntN(20) == 0 {
		ref.Name = "wrong"
	}
	return ref
}

// own adds an owner reference, or replaces the one with the same UID.
func (u modelUser) own(key modelKey, ref metav1.OwnerReference) {
	u.change(key, func(o *modelMeta) {
		delete(u.orphaned[o.UID], ref.UID)
		o.OwnerReferences = append(slices.DeleteFunc(o.OwnerReferences, func(old metav1.OwnerReference) bool { return old.UID == ref.UID }), ref)
	})
}

// keep protects an object from its deletion, or ends that.
func (u modelUser) keep(key modelKey) string {
	text := ""
	u.change(key, func(o *modelMeta) {
		if o.Annotations == nil {
			o.Annotations, text = map[string]string{keep.Annotation: keep.Always}, "keeps "+key.String()
		} else {
			o.Annotations, text = nil, "unlocks "+key.String()
		}
	})
	return text
}

// finalize adds a finalizer of the user, or removes it.
func (u modelUser) finalize(key modelKey) string {
	o := u.objects[key]
	switch {
	case hasFinalizer(o, userFinalizer):
		u.release(key)
		return "finalizes " + key.String()
	case o.DeletionTimestamp == nil:
		u.change(key, func(o *modelMeta) { o.Finalizers = append(o.Finalizers, userFinalizer) })
		return "protects " + key.String() + " with a finalizer"
	}
	return ""
}

// release removes the finalizer of the user.
func (u modelUser) release(key modelKey) {
	u.change(key, func(o *modelMeta) {
		o.Finalizers = slices.DeleteFunc(o.Finalizers, func(name string) bool { return name == userFinalizer })
	})
}

// releaseAll removes the finalizers of the user from all objects that are being deleted.
func (u modelUser) releaseAll() {
	for _, key := range sortedKeys(u.objects) {
		if o := u.objects[key]; o.DeletionTimestamp != nil && hasFinalizer(o, userFinalizer) {
			u.release(key)
		}
	}
}
