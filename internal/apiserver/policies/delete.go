package policies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/apiserver/update"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/operator/authorship"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/internal/protection"
)

var _ keep.Rules = &Rules{}

// Guards implements keep.Rules. The rules of a policy for a kind that was installed a moment ago may not be compiled yet.
func (r *Rules) Guards(resource schema.GroupResource) bool {
	t := r.current.Load()
	return t != nil && (len(t.Kept[resource]) > 0 || t.Missing[resource]) || keepsObjects(r.definition(resource))
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

// NoDelete implements keep.Rules: with the rules of policies, and with those in the annotation of a definition.
func (r *Rules) NoDelete(ctx context.Context, d keep.Deletion) (*keep.Rule, error) {
	resource, object := d.Resource.GroupResource(), unstructured.Unstructured{Object: d.Object}
	of := deleted{Deletion: d, namespace: object.GetNamespace(), name: object.GetName()}
	if resource == namespaces { // as in requests of Kubernetes, a namespace is in itself
		of.namespace = of.name
	}
	all, t, err := r.kept(ctx, of)
	if err != nil {
		return nil, err
	}
	var verbs []string
	for _, kept := range all {
		if kept.Policy != "" && t.excluded(kept.Policy, of.namespace) {
			continue
		}
		found, err := kept.Judge(ctx, policy.Deletion{
			Object: policy.Object{Version: d.Resource.Version, Content: d.Object}, Namespace: of.namespace,
			May: func(verb string) bool { return r.may(ctx, of, verb) },
		}, r.labelsOf(ctx))
		if err != nil {
			return nil, err
		}
		if found.Refused == nil {
			if !kept.Warns {
				verbs = append(verbs, found.Verbs...)
			}
			continue
		}
		rule := &keep.Rule{Mark: *found.Refused, Policy: kept.Policy, Unclear: found.Unclear}
		if kept.Policy != "" {
			rule.File = t.files[kept.Policy]
			r.announceDeletion(ctx, of, kept)
		}
		if !kept.Warns {
			return rule, nil
		}
		if d.User != nil {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s: %s warns about its deletion", of, rule))
		}
	}
	if len(verbs) > 0 {
		update.OverrideDeletion(ctx, of.String(), verbs)
	}
	return nil, nil
}

// kept returns the rules no-delete of a resource, and the table with those of policies.
func (r *Rules) kept(ctx context.Context, of deleted) ([]policy.Kept, *table, error) {
	resource, t := of.Resource.GroupResource(), r.current.Load()
	crd := r.definition(resource)
	if t != nil && t.Missing[resource] && crd != nil {
		var err error
		if t, err = r.await(ctx, func(t *table) bool { return !t.Missing[resource] }); err != nil {
			return nil, nil, errors.Join(err, errStale)
		}
	}
	var all []policy.Kept
	if t != nil {
		all = slices.Clone(t.Kept[resource])
	}
	if keepsObjects(crd) {
		all = append(all, r.annotated.of(crd))
	}
	return all, t, nil
}

// deleted is an object that is deleted. The namespace of a Namespace is itself.
type deleted struct {
	keep.Deletion
	namespace, name string
}

// String returns the object as kubectl names it.
func (d deleted) String() string { return d.Resource.GroupResource().String() + "/" + d.name }

// may asks whether the user of a deletion has a verb on the object. The server's own controllers have none.
func (r *Rules) may(ctx context.Context, d deleted, verb string) bool {
	if d.User == nil || d.User.GetName() == user.APIServerUser || d.User.GetName() == authorship.ControllerUser {
		return false
	}
	decision, _, err := r.config.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: d.User, Verb: verb, Namespace: d.namespace, Name: d.name, APIGroup: d.Resource.Group,
		APIVersion: d.Resource.Version, Resource: d.Resource.Resource, ResourceRequest: true,
	})
	return err == nil && decision == authorizer.DecisionAllow
}

// announceDeletion records an Event about the policy, unless the deletion is a dry run. A deletion without a user is one of the server,
// which tries again and again, or a question about the objects in a namespace.
func (r *Rules) announceDeletion(ctx context.Context, d deleted, by policy.Kept) {
	if events := r.events.Load(); events != nil && d.User != nil && protection.Counts(ctx) {
		events.RecordDeletion(objectText(d.Resource.GroupResource().String(), d.namespace, d.name), by)
	}
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
