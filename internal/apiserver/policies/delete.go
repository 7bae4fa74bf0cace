package policies

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/policy"
)

var _ keep.Rules = &Rules{}

// Guards implements keep.Rules.
func (r *Rules) Guards(resource schema.GroupResource) bool {
	t := r.current.Load()
	return t != nil && len(t.Kept[resource]) > 0 || keepsObjects(r.definition(resource))
}

// definition returns the definition of a custom resource, nil if there is none.
func (r *Rules) definition(resource schema.GroupResource) *definition.CustomResourceDefinition {
	if compiler := r.compiler.Load(); compiler != nil {
		crd, _ := compiler.Server.Definition(context.Background(), resource.String()) // it is in the process, and never fails
		return crd
	}
	return nil
}

// keepsObjects reports whether the annotation of a definition may have a rule no-delete.
func keepsObjects(crd *definition.CustomResourceDefinition) bool {
	return crd != nil && strings.Contains(crd.Annotations[immutability.Annotation], "no-delete")
}

// NoDelete implements keep.Rules: with the rules of policies, and with those in the annotation of a definition. A rule of a policy
// that only warns forbids nothing.
func (r *Rules) NoDelete(ctx context.Context, d keep.Deletion) (*keep.Rule, error) {
	resource, object := d.Resource.GroupResource(), unstructured.Unstructured{Object: d.Object}
	deletion := policy.Deletion{
		Object: policy.Object{Version: d.Resource.Version, Content: d.Object}, Namespace: object.GetNamespace(),
		May: func(verb string) bool { return r.may(ctx, d, verb) },
	}
	if resource == (schema.GroupResource{Resource: "namespaces"}) { // as in admission, a namespace is in itself
		deletion.Namespace = object.GetName()
	}
	var all []policy.Kept
	if t := r.current.Load(); t != nil {
		for _, kept := range t.Kept[resource] {
			if !kept.Warns && !t.excluded(kept.Policy, deletion.Namespace) {
				all = append(all, kept)
			}
		}
	}
	if crd := r.definition(resource); keepsObjects(crd) {
		all = append(all, r.annotated.of(crd))
	}
	for _, kept := range all {
		rule, err := kept.Rule(ctx, deletion, r.labelsOf(ctx))
		if err != nil {
			return nil, err
		}
		if rule != nil {
			return &keep.Rule{Mark: *rule, Policy: kept.Policy}, nil
		}
	}
	return nil, nil
}

// may asks whether the user of a deletion has a verb on the object. The server's own controllers have none.
func (r *Rules) may(ctx context.Context, d keep.Deletion, verb string) bool {
	if d.User == nil || d.User.GetName() == user.APIServerUser || d.User.GetName() == authorship.ControllerUser {
		return false
	}
	object := unstructured.Unstructured{Object: d.Object}
	decision, _, err := r.config.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: d.User, Verb: verb, Namespace: object.GetNamespace(), Name: object.GetName(), APIGroup: d.Resource.Group,
		APIVersion: d.Resource.Version, Resource: d.Resource.Resource, ResourceRequest: true,
	})
	return err == nil && decision == authorizer.DecisionAllow
}

// annotated keeps the compiled rules no-delete of definitions, one for each name.
type annotated struct {
	mu    sync.Mutex
	known map[string]annotatedKind
}

type annotatedKind struct {
	crd  *definition.CustomResourceDefinition
	kept policy.Kept
}

func (a *annotated) of(crd *definition.CustomResourceDefinition) policy.Kept {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.known[crd.Name]; known.crd == crd {
		return known.kept
	}
	if a.known == nil {
		a.known = map[string]annotatedKind{}
	}
	kept := policy.Annotated(crd)
	a.known[crd.Name] = annotatedKind{crd, kept}
	return kept
}
