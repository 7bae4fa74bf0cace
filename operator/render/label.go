package render

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/native"
	"holdfast.dev/holdfast/operator/api"
)

// Meta is what goes into the metadata of rendered objects.
type Meta struct {
	Operator, Instance, Namespace string
	Plan, Phase, Step             string
}

// Label writes the labels, the annotations and the namespace into objects.
// namespaced says of a kind whether its objects live in a namespace.
//
// The labels are the same in every run of every plan: they also go into pod
// templates and volume claim templates, on which packages select, and which
// restart pods or are refused when they change. The annotations name the plan,
// the phase and the step, and are on the object alone.
func Label(objects []*unstructured.Unstructured, meta Meta, namespaced func(schema.GroupVersionKind) (bool, error)) error {
	labels := map[string]string{
		api.HeritageLabel: api.Heritage, api.OperatorLabel: meta.Operator, api.InstanceLabel: meta.Instance,
	}
	annotations := map[string]string{
		api.PlanAnnotation: meta.Plan, api.PhaseAnnotation: meta.Phase, api.StepAnnotation: meta.Step,
	}
	for _, object := range objects {
		inNamespace, err := namespaced(object.GroupVersionKind())
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if inNamespace {
			object.SetNamespace(meta.Namespace)
		}
		object.SetLabels(merged(object.GetLabels(), labels))
		object.SetAnnotations(merged(object.GetAnnotations(), annotations))
		for _, template := range templates(object) {
			below(template, "metadata")["labels"] = mergedAny(below(template, "metadata", "labels"), labels)
		}
	}
	return nil
}

// Builtin says whether the objects of a built-in kind live in a namespace. Other
// kinds are an error; a server can be asked about those.
func Builtin(kind schema.GroupVersionKind) (bool, error) {
	for _, known := range native.Kinds() {
		if known.GroupVersionKind().GroupKind() == kind.GroupKind() {
			return known.Scope == native.Namespaced, nil
		}
	}
	return false, fmt.Errorf("%s is not a built-in kind", kind)
}

// templates are the pod templates and volume claim templates of an object.
func templates(object *unstructured.Unstructured) []map[string]any {
	kind := object.GroupVersionKind().GroupKind()
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "batch", Kind: "Job"},
		schema.GroupKind{Kind: "ReplicationController"}:
		return one(object.Object, "spec", "template")
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return append(one(object.Object, "spec", "jobTemplate"), one(object.Object, "spec", "jobTemplate", "spec", "template")...)
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		all := one(object.Object, "spec", "template")
		spec, _ := object.Object["spec"].(map[string]any)
		claims, _ := spec["volumeClaimTemplates"].([]any)
		for _, claim := range claims {
			if claim, isObject := claim.(map[string]any); isObject {
				all = append(all, claim)
			}
		}
		return all
	}
	return nil
}

// one is the object at a path, if there is one.
func one(object map[string]any, path ...string) []map[string]any {
	for _, name := range path {
		next, isObject := object[name].(map[string]any)
		if !isObject {
			return nil
		}
		object = next
	}
	return []map[string]any{object}
}

// below is the object at a path, made where there is none.
func below(object map[string]any, path ...string) map[string]any {
	for _, name := range path {
		next, isObject := object[name].(map[string]any)
		if !isObject {
			next = map[string]any{}
			object[name] = next
		}
		object = next
	}
	return object
}

func merged(existing, added map[string]string) map[string]string {
	all := maps.Clone(existing)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, added)
	return all
}

func mergedAny(existing map[string]any, added map[string]string) map[string]any {
	for key, value := range added {
		existing[key] = value
	}
	return existing
}
