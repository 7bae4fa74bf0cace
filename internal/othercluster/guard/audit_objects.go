package guard

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/policy"
)

// lastApplied is the annotation in which kubectl apply stores the configuration.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// resource finds objects of a guarded resource whose guarded fields differ from the last applied
// configuration.
func (a *audit) resource(ctx context.Context, r *policy.Resource) error {
	version := r.Versions[0]
	for _, from := range r.Sources {
		if rules, ok := from.Rules.(policy.DefinedRules); ok && version == "*" {
			version = servedVersion(rules.CRD)
		}
	}
	err := a.each(ctx, a.server.Dynamic.Resource(r.WithVersion(version)).List, func(obj *unstructured.Unstructured) {
		a.objects++
		a.drift(ctx, r, version, obj)
	})
	if apierrors.IsNotFound(err) {
		return nil // the definition is not established, or is being deleted
	}
	if a.tolerant && apierrors.IsForbidden(err) {
		a.unread = append(a.unread, r.String())
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", r.GroupResource, err)
	}
	return nil
}

// servedVersion returns the storage version if it is served, or else the first served version.
func servedVersion(crd *definition.CustomResourceDefinition) string {
	name := crd.Spec.StorageVersion()
	if crd.Spec.Version(name).Served {
		return name
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			return v.Name
		}
	}
	return name
}

// drift checks the update that the next apply of the same file would make.
func (a *audit) drift(ctx context.Context, r *policy.Resource, version string, obj *unstructured.Unstructured) {
	var applied map[string]any
	if json.Unmarshal([]byte(obj.GetAnnotations()[lastApplied]), &applied) != nil {
		return
	}
	at := schema.FromAPIVersionAndKind(fmt.Sprint(applied["apiVersion"]), "")
	if at.Version != version {
		return // its fields may have other names
	}
	updated := runtime.DeepCopyJSON(obj.Object)
	for name, value := range applied {
		if name != "apiVersion" && name != "kind" && name != "metadata" && name != "status" {
			updated[name] = merged(updated[name], value)
		}
	}
	u := &policy.Update{
		Version: version, Namespace: obj.GetNamespace(), Name: obj.GetName(), OldObj: obj.Object, NewObj: updated,
		Stored: func(context.Context, string) (map[string]any, error) { return obj.Object, nil },
		May:    func(string) bool { return false }, // the user of the next apply is not known
	}
	for _, from := range r.Sources {
		found, err := from.Rules.Check(ctx, u)
		if err != nil {
			continue
		}
		for _, one := range found.Refused {
			name := r.String() + "/" + obj.GetName()
			if obj.GetNamespace() != "" {
				name = r.String() + "/" + obj.GetNamespace() + "/" + obj.GetName()
			}
			a.report(drift, finding.Warning, name, one.Path.String(), "the next kubectl apply of the same file is refused: "+one.Rule()).Fix = "put the value of the cluster into the file, or create a new object"
		}
	}
}

// merged returns a value with an applied one merged into it, as kubectl apply does for custom resources. Lists
// of objects stay, because kubectl merges those of built-in kinds.
func merged(live, applied any) any {
	into, isObject := live.(map[string]any)
	from, isApplied := applied.(map[string]any)
	switch {
	case isObject && isApplied:
		for name, value := range from {
			into[name] = merged(into[name], value)
		}
		return into
	case isListOfObjects(applied) && live != nil:
		return live
	}
	return applied
}

func isListOfObjects(value any) bool {
	list, _ := value.([]any)
	if len(list) == 0 {
		return false
	}
	_, isObject := list[0].(map[string]any)
	return isObject
}
