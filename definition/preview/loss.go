package preview

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/value"
)

// Loss is what is lost when an object is deleted and created again.
type Loss struct {
	// Status are the fields of the old status.
	Status []string `json:"status,omitempty"`
	// Finalizers of the old object run before the new one can be created.
	Finalizers []string `json:"finalizers,omitempty"`
	// Owners are owner references that only the old object has, as Kind/name.
	Owners []string `json:"ownerReferences,omitempty"`
	// Fields are fields that only the old object has, without metadata of the server.
	Fields []string `json:"fields,omitempty"`
	// Children are objects that the server deletes together with their owner.
	Children []Child `json:"children,omitempty"`
}

// Child is an object with an owner reference.
type Child struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Loss returns what replacing the object loses. others are the objects among which it looks
// for children.
func (j *Judgement) Loss(others []map[string]any) Loss {
	var loss Loss
	status, _ := j.Old["status"].(map[string]any)
	loss.Status = slices.Sorted(maps.Keys(status))
	metadata, _ := j.Old["metadata"].(map[string]any)
	finalizers, _ := metadata["finalizers"].([]any)
	for _, finalizer := range finalizers {
		loss.Finalizers = append(loss.Finalizers, fmt.Sprint(finalizer))
	}
	updated, _ := j.New["metadata"].(map[string]any)
	kept := ownersOf(updated)
	for _, owner := range ownersOf(metadata) {
		if !slices.Contains(kept, owner) {
			loss.Owners = append(loss.Owners, owner.kind+"/"+owner.name)
		}
	}
	loss.Fields = onlyIn(j.Old, j.New, nil)
	for _, other := range others {
		loss.addChild(j.Old, other)
	}
	return loss
}

// owner is an owner reference.
type owner struct{ kind, name, uid string }

func ownersOf(metadata map[string]any) []owner {
	references, _ := metadata["ownerReferences"].([]any)
	var owners []owner
	for _, r := range references {
		reference, _ := r.(map[string]any)
		kind, _ := reference["kind"].(string)
		name, _ := reference["name"].(string)
		uid, _ := reference["uid"].(string)
		owners = append(owners, owner{kind, name, uid})
	}
	return owners
}

// addChild adds an object to the children if it is owned by the old object. If one of the two
// has no UID, as in a file that was never on a server, kind and name decide. An object with
// another owner stays.
func (l *Loss) addChild(old, other map[string]any) {
	metadata, _ := other["metadata"].(map[string]any)
	owners := ownersOf(metadata)
	oldMetadata, _ := old["metadata"].(map[string]any)
	uid, _ := oldMetadata["uid"].(string)
	kind, _ := old["kind"].(string)
	name, _ := oldMetadata["name"].(string)
	isOwner := func(o owner) bool {
		if uid != "" && o.uid != "" {
			return o.uid == uid
		}
		return o.kind == kind && o.name == name
	}
	if len(owners) != 1 || !isOwner(owners[0]) {
		return
	}
	childKind, _ := other["kind"].(string)
	childName, _ := metadata["name"].(string)
	l.Children = append(l.Children, Child{Kind: childKind, Name: childName})
}

// onlyIn returns the paths of fields that old has and updated does not, without those that
// isOmitted leaves out.
func onlyIn(old, updated map[string]any, path *value.Path) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(old)) {
		at := path.Child(name)
		if isOmitted(at) {
			continue
		}
		other, ok := updated[name]
		if !ok {
			found = append(found, at.String())
			continue
		}
		oldObject, isObject := old[name].(map[string]any)
		newObject, both := other.(map[string]any)
		if isObject && both {
			found = append(found, onlyIn(oldObject, newObject, at)...)
		}
	}
	return found
}

// isOmitted reports whether Loss.Fields leaves out a field: the status, the finalizers and the
// owner references are other fields of Loss, and the last-applied annotation is not lost.
func isOmitted(path *value.Path) bool {
	switch path.Last().Name {
	case "status":
		return path.Len() == 1
	case "finalizers", "ownerReferences":
		return path.Len() == 2
	case corev1.LastAppliedConfigAnnotation:
		// The next kubectl apply writes it again.
		return true
	}
	return false
}
