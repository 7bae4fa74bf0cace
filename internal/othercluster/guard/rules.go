package guard

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/refusal"
)

// update is one write, as the rules see it.
type update struct {
	version         string
	namespace, name string
	oldObj, newObj  map[string]any
	// stored reads the old object in another version.
	stored func(ctx context.Context, version string) (map[string]any, error)
}

// source has rules for one resource.
type source struct {
	// policy is the name of the policy, empty for the annotation of the definition.
	policy string
	warns  bool
	match  match
	rules  rules
	// server has the rules that the API server enforces itself, see definedRules.
	server *definedRules
}

// rules find the changes of an update that they forbid.
type rules interface {
	check(ctx context.Context, u *update) ([]refusal.Violation, error)
}

// definedRules are the rules of a custom resource, for all its versions.
type definedRules struct {
	crd      *definition.CustomResourceDefinition
	compiled map[string]*definition.Compiled
	// server has the rules that the API server enforces itself. It keeps the fields with these rules in writes of versions that
	// lack them. Only our server does, so server is nil for others.
	server *definedRules
}

// check implements rules. As our server, it checks the version of the request, and every other version
// with markers on converted objects.
func (r definedRules) check(ctx context.Context, u *update) ([]refusal.Violation, error) {
	version := r.compiled[u.version]
	if version == nil {
		return nil, fmt.Errorf("%s has no version %s", r.crd.Name, u.version)
	}
	found := refusal.Of("", version.Policy.Check(u.oldObj, u.newObj))
	others := definition.AlsoMarked(r.crd, r.compiled, u.version)
	if len(others) == 0 || !r.crd.Spec.ConvertsNothing() {
		return found, nil
	}
	stored := u.oldObj
	if storage := r.crd.Spec.StorageVersion(); storage != u.version && r.crd.Spec.Version(storage).Served {
		var err error
		if stored, err = u.stored(ctx, storage); err != nil {
			if len(found) > 0 {
				return found, nil
			}
			return nil, err
		}
	}
	written := r.written(others, stored, u)
	for _, name := range others {
		other := r.compiled[name]
		more := other.Policy.Check(converted(stored, other), converted(written, other))
		found = refusal.Merge(found, refusal.Of("version "+name, more))
	}
	return found, nil
}

// written returns the new object as the API server stores it: with the marked values that its version does not have, if the
// server keeps them. Other servers drop them, so they count as removed. But an object that is being deleted must lose its
// finalizers in every version.
func (r definedRules) written(others []string, stored map[string]any, u *update) map[string]any {
	var kept []*immutability.Policy
	if r.server != nil {
		kept = r.server.policies(definition.AlsoMarked(r.server.crd, r.server.compiled, u.version))
	}
	if (&unstructured.Unstructured{Object: u.oldObj}).GetDeletionTimestamp() != nil {
		kept = append(kept, r.policies(others)...)
	}
	if len(kept) == 0 {
		return u.newObj
	}
	return immutability.FindUnseen(kept, stored, converted(stored, r.compiled[u.version])).Restore(u.newObj)
}

// policies returns the policies of versions.
func (r definedRules) policies(versions []string) []*immutability.Policy {
	var out []*immutability.Policy
	for _, name := range versions {
		out = append(out, r.compiled[name].Policy)
	}
	return out
}

// converted returns a copy of an object as a GET in another version returns it.
func converted(object map[string]any, to *definition.Compiled) map[string]any {
	out := runtime.DeepCopyJSON(object)
	out["apiVersion"] = schema.GroupVersion{Group: to.Kind.Group, Version: to.Kind.Version}.String()
	if to.Pruned {
		to.Skeleton.Prune(out)
	}
	to.Skeleton.Default(out)
	to.Skeleton.Normalize(out)
	return out
}

// publishedRules are the rules of a resource without a definition, in one version. The API server
// converts objects to it.
type publishedRules struct {
	version string
	policy  *immutability.Policy
}

// check implements rules.
func (r publishedRules) check(_ context.Context, u *update) ([]refusal.Violation, error) {
	if u.version != r.version {
		return nil, fmt.Errorf("the review is in version %s, not %s", u.version, r.version)
	}
	return refusal.Of("", r.policy.Check(u.oldObj, u.newObj)), nil
}
