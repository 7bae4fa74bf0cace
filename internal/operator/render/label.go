package render

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/native"
)

// Meta holds the values that Label writes into the metadata of rendered objects.
type Meta struct {
	Operator, Instance, Namespace string
	Plan, Phase, Step             string
	// Version is spec.version of the OperatorVersion.
	Version string
}

// Label sets the labels, the annotations and the namespace of objects. The function
// namespaced reports whether a kind is namespaced.
//
// Label sets the labels on the object and on its pod templates and volume claim
// templates, because packages select pods and claims by them. The labels are the same in
// every run of every plan. It sets the annotations, which name the plan, the phase, the
// step and the version, on the object only. They differ from plan to plan: in a pod template they would
// restart pods, and the server refuses a change of a volume claim template.
func Label(objects []*unstructured.Unstructured, meta Meta, namespaced func(schema.GroupVersionKind) (bool, error)) error {
	labels := map[string]string{
		api.HeritageLabel: api.Heritage, api.OperatorLabel: meta.Operator, api.InstanceLabel: meta.Instance,
	}
	annotations := map[string]string{
		api.PlanAnnotation: meta.Plan, api.PhaseAnnotation: meta.Phase, api.StepAnnotation: meta.Step,
		api.VersionAnnotation: meta.Version,
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
			existing := ensure(template, "metadata", "labels")
			for key, value := range labels {
				existing[key] = value
			}
		}
	}
	return nil
}

// Builtin reports whether a built-in kind is namespaced. It returns an error for any
// other kind. A caller without a server passes it to Label.
func Builtin(kind schema.GroupVersionKind) (bool, error) {
	for _, known := range native.Kinds() {
		if known.GroupVersionKind().GroupKind() == kind.GroupKind() {
			return known.Scope == native.Namespaced, nil
		}
	}
	return false, fmt.Errorf("%s is not a built-in kind", kind)
}

// templates returns the job, pod and volume claim templates in an object.
func templates(object *unstructured.Unstructured) []map[string]any {
	kind := object.GroupVersionKind().GroupKind()
	switch kind {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "batch", Kind: "Job"},
		schema.GroupKind{Kind: "ReplicationController"}:
		return at(object.Object, "spec", "template")
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		return append(at(object.Object, "spec", "jobTemplate"), at(object.Object, "spec", "jobTemplate", "spec", "template")...)
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		all := at(object.Object, "spec", "template")
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

// at returns the object at a path as a list of one, empty if there is no object.
func at(object map[string]any, path ...string) []map[string]any {
	for _, name := range path {
		next, isObject := object[name].(map[string]any)
		if !isObject {
			return nil
		}
		object = next
	}
	return []map[string]any{object}
}

// ensure returns the object at a path. It creates the objects of the path that are missing.
func ensure(object map[string]any, path ...string) map[string]any {
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

// merged returns the entries of both maps. If both have a key, the value of added is used.
func merged(existing, added map[string]string) map[string]string {
	all := maps.Clone(existing)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, added)
	return all
}
