package policies

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/policy"
)

// NoDelete returns the rule of a policy that forbids to delete an object, such as "policy prod: no-delete unless retire". It is empty
// if none does. A rule that only warns forbids nothing.
func (r *Rules) NoDelete(ctx context.Context, resource schema.GroupResource, obj runtime.Object) (string, error) {
	if r == nil {
		return "", nil
	}
	t := r.current.Load()
	if t == nil || len(t.Kept[resource]) == 0 {
		return "", nil
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", err
	}
	content, err := contentOf(obj)
	if err != nil {
		return "", err
	}
	d := policy.Deletion{Object: policy.Object{Version: versionOf(content, obj), Content: content}, Namespace: accessor.GetNamespace()}
	if resource == (schema.GroupResource{Resource: "namespaces"}) { // as in admission, a namespace is in itself
		d.Namespace = accessor.GetName()
	}
	d.May = func(verb string) bool {
		return rights.MayWith(ctx, verb, accessor.GetName())
	}
	for _, kept := range t.Kept[resource] {
		if kept.Warns || t.excluded(kept.Policy, d.Namespace) {
			continue
		}
		rule, err := kept.Rule(ctx, d, r.labelsOf(ctx))
		if err != nil {
			return "", err
		}
		if rule != nil {
			return "policy " + kept.Policy + ": " + rule.String(), nil
		}
	}
	return "", nil
}

// contentOf returns an object as maps.
func contentOf(obj runtime.Object) (map[string]any, error) {
	if content, ok := obj.(runtime.Unstructured); ok {
		return content.UnstructuredContent(), nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// versionOf returns the version of an object. The Go objects of built-in kinds may have none: their rules are for one version.
func versionOf(content map[string]any, obj runtime.Object) string {
	apiVersion, _ := content["apiVersion"].(string)
	if apiVersion == "" {
		apiVersion = obj.GetObjectKind().GroupVersionKind().GroupVersion().String()
	}
	return apiVersion[strings.LastIndex(apiVersion, "/")+1:]
}
