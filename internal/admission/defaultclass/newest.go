package defaultclass

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// newest returns the name of the newest class that has one of the annotations with the
// value "true". Of classes of the same age, it returns the first one by name. It returns ""
// if there is no such class.
func newest[T metav1.Object](classes []T, annotations ...string) string {
	var found metav1.Object
	for _, class := range classes {
		for _, annotation := range annotations {
			if class.GetAnnotations()[annotation] == "true" && (found == nil || before(class, found)) {
				found = class
			}
		}
	}
	if found == nil {
		return ""
	}
	return found.GetName()
}

// before reports whether a class takes precedence over another one.
func before(class, other metav1.Object) bool {
	created, otherCreated := class.GetCreationTimestamp(), other.GetCreationTimestamp()
	if created.Equal(&otherCreated) {
		return class.GetName() < other.GetName()
	}
	return otherCreated.Before(&created)
}
