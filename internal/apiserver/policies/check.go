package policies

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/apiserver/disclosure"
	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/policy"
	"holdfast.dev/holdfast/internal/protection"
)

// check returns the violations of the rules that enforce, and adds warnings for the others.
func (r *Rules) check(ctx context.Context, t *table, name schema.GroupResource, u *policy.Update) (refusal.Decision, error) {
	guarded := *t.Resources[name]
	guarded.Sources = slices.DeleteFunc(slices.Clone(guarded.Sources), func(s policy.Source) bool { return t.excluded(s.Policy, u.Namespace) })
	u.May = func(verb string) bool { return rights.May(ctx, verb) }
	found, err := guarded.Check(ctx, u, r.labelsOf(ctx))
	if err != nil && len(found.Refused) == 0 {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return refusal.Decision{}, err
		}
		return refusal.Decision{}, apierrors.NewInternalError(err)
	}
	if len(found.Hits)+len(found.Allowed) == 0 || policy.OnlyElection(name, u.OldObj, u.NewObj) {
		return refusal.Decision{}, nil
	}
	r.announce(ctx, found.Hits)
	if len(found.Warned) > 0 {
		answer := refusal.Answer{Kind: guarded.Kind, Name: u.Name, Values: showsValues(ctx, name)}
		for _, cause := range answer.Status(found.Warned).Details.Causes {
			warning.AddWarning(ctx, "", cause.Field+": "+cause.Message)
		}
	}
	if len(found.Refused) > 0 {
		protection.Refuse(ctx, protection.Policy, refusal.FieldsOf(found.Refused)...)
	}
	return found.Decision, nil
}

// showsValues reports whether messages about an update may have values. Those of Secrets are never in messages.
func showsValues(ctx context.Context, name schema.GroupResource) bool {
	return name != schema.GroupResource{Resource: "secrets"} && disclosure.Allowed(ctx)
}

// announce records Events about the policies, unless the write is a dry run.
func (r *Rules) announce(ctx context.Context, hits []policy.Hit) {
	events := r.events.Load()
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if events == nil || !ok || !protection.Counts(ctx) {
		return
	}
	text := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}.String()
	if info.Subresource != "" {
		text += "/" + info.Subresource
	}
	events.Record(objectText(text, info.Namespace, info.Name), hits)
}

// objectText returns the name of an object in Events.
func objectText(resource, namespace, name string) string {
	if namespace != "" {
		return resource + " " + namespace + "/" + name
	}
	return resource + " " + name
}
