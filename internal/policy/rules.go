package policy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/while"
)

// Update is one write, as the rules see it.
type Update struct {
	Version         string
	Namespace, Name string
	OldObj, NewObj  map[string]any
	// Converted returns both objects in another version, as the server stores them. If it is nil, the rules convert the objects
	// that Stored reads.
	Converted func(ctx context.Context, version string) (was, is map[string]any, err error)
	// Stored reads the old object in another version.
	Stored func(ctx context.Context, version string) (map[string]any, error)
	// May reports whether the user of the write has a verb on the object.
	May func(verb string) bool
}

// decide asks about the conditions of the rules that the write breaks. holds evaluates them.
func (u *Update) decide(found []refusal.Violation, holds func(expression string) (bool, error)) refusal.Decision {
	if len(found) == 0 {
		return refusal.Decision{}
	}
	return refusal.Edge{Holds: holds, May: u.May}.Decide(found)
}

// Source has rules for one resource.
type Source struct {
	// Policy is the name of the policy, empty for the annotation of the definition.
	Policy string
	// Warns means that the rules only warn.
	Warns bool
	Match Match
	Rules Rules
	// server has the rules that the API server enforces itself, see DefinedRules.
	server *DefinedRules
}

// Rules find the changes of an update that they forbid.
type Rules interface {
	Check(ctx context.Context, u *Update) (refusal.Decision, error)
	// Holds evaluates the condition of a rule for a stored object.
	Holds(ctx context.Context, of Object, expression string) (bool, error)
}

// Object is an object in a version.
type Object struct {
	Version string
	Content map[string]any
}

// DefinedRules are the rules of a custom resource, for all its versions.
type DefinedRules struct {
	CRD      *definition.CustomResourceDefinition
	compiled map[string]*definition.Compiled
	// server has the rules that the API server enforces itself. It keeps the fields with these rules in writes of versions that
	// lack them. Only our server does, so server is nil for others.
	server *DefinedRules
}

// Check implements Rules. As our server, it checks the version of the request, and every other version
// with markers on converted objects.
func (r DefinedRules) Check(ctx context.Context, u *Update) (refusal.Decision, error) {
	if r.compiled[u.Version] == nil {
		return refusal.Decision{}, fmt.Errorf("%s has no version %s", r.CRD.Name, u.Version)
	}
	found := r.checkIn(ctx, u, u.Version, u.OldObj, u.NewObj)
	others := definition.AlsoMarked(r.CRD, r.compiled, u.Version)
	if u.Converted != nil {
		return r.checkOthers(ctx, u, others, found)
	}
	if len(others) == 0 || !r.CRD.Spec.ConvertsNothing() {
		return found, nil
	}
	stored := u.OldObj
	if storage := r.CRD.Spec.StorageVersion(); storage != u.Version && r.CRD.Spec.Version(storage).Served {
		var err error
		if stored, err = u.Stored(ctx, storage); err != nil {
			if len(found.Refused) > 0 {
				return found, nil
			}
			return found, err
		}
	}
	written := r.written(others, stored, u)
	for _, name := range others {
		other := r.compiled[name]
		found.Merge(r.checkIn(ctx, u, name, converted(stored, other), converted(written, other)))
	}
	return found, nil
}

// checkIn checks the rules of one version. Both objects are in this version.
func (r DefinedRules) checkIn(ctx context.Context, u *Update, version string, was, is map[string]any) refusal.Decision {
	source := ""
	if version != u.Version {
		source = "version " + version
	}
	return u.decide(refusal.Of(source, r.compiled[version].Policy.Check(was, is)), func(expression string) (bool, error) {
		return r.Holds(ctx, Object{version, was}, expression)
	})
}

// Holds implements Rules.
func (r DefinedRules) Holds(ctx context.Context, of Object, expression string) (bool, error) {
	compiled := r.compiled[of.Version]
	if compiled == nil {
		return true, fmt.Errorf("%s has no version %s", r.CRD.Name, of.Version)
	}
	return compiled.Holds(ctx, expression, of.Content)
}

// checkOthers checks other versions with objects that the server converts. If a conversion fails after a violation was found,
// the violations count.
func (r DefinedRules) checkOthers(ctx context.Context, u *Update, others []string, found refusal.Decision) (refusal.Decision, error) {
	for _, name := range others {
		was, is, err := u.Converted(ctx, name)
		if err != nil {
			if len(found.Refused) > 0 {
				return found, nil
			}
			return found, err
		}
		found.Merge(r.checkIn(ctx, u, name, was, is))
	}
	return found, nil
}

// written returns the new object as the API server stores it: with the marked values that its version does not have, if the
// server keeps them. Other servers drop them, so they count as removed. But an object that is being deleted must lose its
// finalizers in every version.
func (r DefinedRules) written(others []string, stored map[string]any, u *Update) map[string]any {
	var kept []*immutability.Policy
	if r.server != nil {
		kept = r.server.policies(definition.AlsoMarked(r.server.CRD, r.server.compiled, u.Version))
	}
	if (&unstructured.Unstructured{Object: u.OldObj}).GetDeletionTimestamp() != nil {
		kept = append(kept, r.policies(others)...)
	}
	if len(kept) == 0 {
		return u.NewObj
	}
	return immutability.FindUnseen(kept, stored, converted(stored, r.compiled[u.Version])).Restore(u.NewObj)
}

// policies returns the policies of versions.
func (r DefinedRules) policies(versions []string) []*immutability.Policy {
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
	// conditions are those of the rules, by their text.
	conditions map[string]*while.Condition
}

// Check implements Rules.
func (r publishedRules) Check(ctx context.Context, u *Update) (refusal.Decision, error) {
	if u.Version != r.version {
		return refusal.Decision{}, fmt.Errorf("the review is in version %s, not %s", u.Version, r.version)
	}
	return u.decide(refusal.Of("", r.policy.Check(u.OldObj, u.NewObj)), func(expression string) (bool, error) {
		return r.Holds(ctx, Object{u.Version, u.OldObj}, expression)
	}), nil
}

// Holds implements Rules.
func (r publishedRules) Holds(ctx context.Context, of Object, expression string) (bool, error) {
	return r.conditions[expression].Holds(ctx, of.Content)
}
