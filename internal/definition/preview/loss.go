package preview

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/value"
)

// Loss is what is lost when an object is deleted and created again.
type Loss struct {
	// Status are the fields of the old status, without those that are zero or empty.
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
	// Namespace is empty if it is that of the replaced object.
	Namespace string `json:"namespace,omitempty"`
}

// String returns kind and name, and the namespace if there is one.
func (c Child) String() string {
	if c.Namespace == "" {
		return c.Kind + "/" + c.Name
	}
	return c.Kind + "/" + c.Name + " in namespace " + c.Namespace
}

// Loss returns what replacing the object loses. others are the objects among which it looks
// for children.
func (j Judgement) Loss(others []map[string]any) Loss {
	var loss Loss
	status, _ := j.Old["status"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(status)) {
		if !isZero(status[name]) {
			loss.Status = append(loss.Status, name)
		}
	}
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
	loss.Children = collected(j.Old, others)
	return loss
}

// isZero reports whether a value says nothing, such as a counter that is 0.
func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
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

// identity is what owner references name.
type identity struct{ kind, name, uid, namespace string }

func identityOf(object map[string]any) identity {
	metadata, _ := object["metadata"].(map[string]any)
	var id identity
	id.kind, _ = object["kind"].(string)
	id.name, _ = metadata["name"].(string)
	id.uid, _ = metadata["uid"].(string)
	id.namespace, _ = metadata["namespace"].(string)
	return id
}

// isNamedBy reports whether an owner reference names the object. If one of the two has no UID,
// as in a file that was never on a server, kind and name decide.
func (id identity) isNamedBy(o owner) bool {
	if id.uid != "" && o.uid != "" {
		return o.uid == id.uid
	}
	return o.kind == id.kind && o.name == id.name
}

// collected returns the objects among others that the garbage collector deletes after the
// deletion of old. The garbage collector deletes an object when all its owners are deleted, so
// collected also returns the children of children. An object with an owner that stays is left
// out.
func collected(old map[string]any, others []map[string]any) []Child {
	root := identityOf(old)
	deleted := []identity{root}
	isDeleted := func(o owner) bool {
		return slices.ContainsFunc(deleted, func(id identity) bool { return id.isNamedBy(o) })
	}
	var children []Child
	done := make([]bool, len(others))
	// Each round finds objects whose last owner an earlier round found.
	for found := true; found; {
		found = false
		for i, other := range others {
			metadata, _ := other["metadata"].(map[string]any)
			owners := ownersOf(metadata)
			isOther := func(o owner) bool { return !isDeleted(o) }
			if done[i] || len(owners) == 0 || slices.ContainsFunc(owners, isOther) {
				continue
			}
			done[i], found = true, true
			id := identityOf(other)
			deleted = append(deleted, id)
			child := Child{Kind: id.kind, Name: id.name}
			if root.namespace == "" {
				child.Namespace = id.namespace
			}
			children = append(children, child)
		}
	}
	return children
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
		oldObject, isObject := old[name].(map[string]any)
		newObject, both := updated[name].(map[string]any)
		_, kept := updated[name]
		switch {
		case isObject && both:
			found = append(found, onlyIn(oldObject, newObject, at)...)
		case isObject && !kept && len(oldObject) > 0 && len(onlyIn(oldObject, nil, at)) == 0:
			// It has nothing but fields that are left out, such as one annotation.
		case !kept:
			found = append(found, at.String())
		}
	}
	return found
}

// isOmitted reports whether Loss.Fields leaves out a field: the status, the finalizers and the
// owner references are other fields of Loss, the server writes some metadata itself, and the
// last-applied annotation is not lost.
func isOmitted(path *value.Path) bool {
	steps := path.Steps()
	switch {
	case len(steps) == 1:
		return steps[0].Name == "status"
	case steps[0].Name != "metadata":
		return false
	case len(steps) == 2:
		name := steps[1].Name
		return name == "finalizers" || name == "ownerReferences" || slices.Contains(serverMetadata, name)
	}
	// The next kubectl apply writes it again.
	return len(steps) == 3 && steps[2].Name == corev1.LastAppliedConfigAnnotation
}
