package controller

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/lint"
)

// definer is a task of a plan that can define kinds.
type definer struct {
	at    place
	index int
	// kinds are the kinds that the task defines.
	kinds map[schema.GroupVersionKind]bool
	// dependency means that the task applies an Instance, with plans that may define any
	// kind.
	dependency bool
}

// unknownKind returns the error about an object to apply whose kind the server does not know.
// If the run applies the definition of the kind before, the run waits until the kind is
// served. If the run applies another Instance before, the plan of that Instance may define the
// kind, so the run retries. In any other case the error is fatal.
func (e *execution) unknownKind(ctx context.Context, at place, task string, object target) error {
	before, err := e.definersBefore(ctx, at, task)
	if err != nil {
		return err
	}
	dependency := false
	for _, each := range before {
		if each.kinds[object.GroupVersionKind()] {
			return waiting("%s: the definition of its kind is not established yet", title(object.Unstructured))
		}
		dependency = dependency || each.dependency
	}
	if dependency {
		return object.unknown
	}
	if removed := lint.Removed(object.Unstructured); removed != "" {
		return fatalf("%w: %s", object.unknown, removed)
	}
	return fatalError{object.unknown}
}

// definersBefore returns the tasks that can define kinds before or while a task runs.
func (e *execution) definersBefore(ctx context.Context, at place, task string) ([]definer, error) {
	var all []definer
	index, last := 0, 0
	for where, name := range tasks(e.status.Name, e.definition) {
		if where == at && name == task {
			last = index
		}
		actions, err := e.actions(ctx, where, name)
		if err != nil && !isFatal(err) {
			return nil, err
		}
		// A task that cannot be rendered ends the run elsewhere.
		if each := definerOf(actions); each.dependency || len(each.kinds) > 0 {
			each.at, each.index = where, index
			all = append(all, each)
		}
		index++
	}
	var before []definer
	for _, each := range all {
		if each.index <= last || e.parallel(each.at, at) {
			before = append(before, each)
		}
	}
	return before, nil
}

// parallel reports whether two steps of the plan run at the same time.
func (e *execution) parallel(a, b place) bool {
	if a.phase != b.phase {
		return e.definition.Strategy == api.Parallel
	}
	for _, phase := range e.definition.Phases {
		if phase.Name == a.phase {
			return a.step != b.step && phase.Strategy == api.Parallel
		}
	}
	return false
}

// definerOf returns what the writes of a task define.
func definerOf(actions actions) definer {
	found := definer{kinds: map[schema.GroupVersionKind]bool{}}
	for _, object := range actions.apply {
		if isInstance(object.Unstructured) {
			found.dependency = true
		}
		for _, kind := range definedBy(object.Unstructured) {
			found.kinds[kind] = true
		}
	}
	return found
}

// definedBy returns the kinds that a CustomResourceDefinition defines, none for any other
// object.
func definedBy(object *unstructured.Unstructured) []schema.GroupVersionKind {
	if !isDefinition(object) {
		return nil
	}
	group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
	// In v1beta1 a definition may have one version in a field of its own.
	if single, found, _ := unstructured.NestedString(object.Object, "spec", "version"); found {
		versions = append(versions, map[string]any{"name": single, "served": true})
	}
	var all []schema.GroupVersionKind
	for _, version := range versions {
		content, _ := version.(map[string]any)
		name, _ := content["name"].(string)
		if served, _ := content["served"].(bool); served {
			all = append(all, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return all
}

// isDefinition reports whether an object is a CustomResourceDefinition.
func isDefinition(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == apiextensionsv1.Kind("CustomResourceDefinition")
}
