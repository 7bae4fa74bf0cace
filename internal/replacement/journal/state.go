package journal

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// State is how far a replacement is.
type State string

// The states of a replacement.
const (
	// Unchanged: the old object is stored, as it was when the journal was written.
	Unchanged State = "the old object is not deleted yet"
	// Changed: the old object is stored, and was changed.
	Changed State = "the old object was changed, and is not deleted"
	// Deleting: the old object waits for its finalizers.
	Deleting State = "the old object is being deleted"
	// Absent: no object is stored.
	Absent State = "the old object is deleted, and the new one not created yet"
	// Refused: no object is stored, and the server refused the new one.
	Refused State = "the old object is deleted, and the server refused the new one"
	// Created: the new object is stored.
	Created State = "the new object is created"
	// Restored: the server refused the new object, and the old one was created again.
	Restored State = "the server refused the new object, and the old one was created again"
	// Foreign: an object is stored that is neither.
	Foreign State = "another client created an object of this name"
)

// Judge returns how far the replacement is. stored is the object that the server has now, nil if it has none.
func (e *Entry) Judge(stored *unstructured.Unstructured) State {
	switch {
	case stored == nil && e.Refusal != "":
		return Refused
	case stored == nil:
		return Absent
	case stored.GetUID() == e.UID && stored.GetDeletionTimestamp() != nil:
		return Deleting
	case stored.GetUID() == e.UID && stored.GetResourceVersion() == e.ResourceVersion:
		return Unchanged
	case stored.GetUID() == e.UID:
		return Changed
	case stored.GetDeletionTimestamp() != nil:
		return Foreign
	case isApplied(e.New, stored):
		return Created
	case e.Refusal != "" && reflect.DeepEqual(content(e.Old), content(stored)):
		return Restored
	}
	return Foreign
}

// isApplied reports whether an object was created from another one. Its other fields have been defaulted since, and other clients may have
// changed them.
func isApplied(object, stored *unstructured.Unstructured) bool {
	applied := object.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
	return applied != "" && applied == stored.GetAnnotations()[corev1.LastAppliedConfigAnnotation]
}

// content returns the fields of an object that a create takes from the client.
func content(object *unstructured.Unstructured) map[string]any {
	out := Creatable(object)
	delete(out.Object, "status")
	return out.Object
}

// jobLabels are the labels that the server gives a Job and its pods. They have the UID of the Job.
var jobLabels = []string{"controller-uid", "batch.kubernetes.io/controller-uid"}

// Creatable returns a stored object in the form in which a client can create it again. The status stays, because it is an ordinary field of
// some custom resources; for other kinds the server drops it.
func Creatable(stored *unstructured.Unstructured) *unstructured.Unstructured {
	out := stored.DeepCopy()
	for _, name := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields",
	} {
		unstructured.RemoveNestedField(out.Object, "metadata", name)
	}
	manual, _, _ := unstructured.NestedBool(out.Object, "spec", "manualSelector")
	if out.GroupVersionKind().Group == "batch" && out.GetKind() == "Job" && !manual {
		// The server makes the selector and the labels from the UID, and refuses those of another UID.
		unstructured.RemoveNestedField(out.Object, "spec", "selector")
		for _, label := range jobLabels {
			unstructured.RemoveNestedField(out.Object, "metadata", "labels", label)
			unstructured.RemoveNestedField(out.Object, "spec", "template", "metadata", "labels", label)
		}
	}
	return out
}
