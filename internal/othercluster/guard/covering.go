package guard

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"holdfast.dev/holdfast/internal/policy"
)

// covering makes the API server ask about the objects of a definition.
type covering struct {
	live *observed
	// isNew says that the definition is created. The webhooks of the leader may then be there because of a deleted definition of the same name,
	// and the leader removes them when it sees the deletion.
	isNew bool
}

// considered returns the webhooks of a configuration that stay when the definition is stored.
func (c covering) considered(in *configuration) *configuration {
	if !c.isNew {
		return in
	}
	out := in.DeepCopy()
	out.Webhooks = slices.DeleteFunc(out.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return !isEarly(w) })
	return out
}

// all returns when the API server asks the guard about updates and deletions of the objects of a definition, and about the deletion
// of the definition if its objects may keep it.
func (c covering) all(ctx context.Context, definition string, table *policy.Table) error {
	for _, r := range table.Sorted() {
		if err := c.updates(ctx, definition, r); err != nil {
			return err
		}
	}
	for _, k := range enforced(table) {
		if err := c.deletions(ctx, k); err != nil {
			return err
		}
		if err := c.deletionOf(ctx, holder{definitionsResource, definition}); err != nil {
			return err
		}
	}
	return nil
}

// updates returns when the API server asks the guard about a resource.
func (c covering) updates(ctx context.Context, definition string, r *policy.Resource) error {
	covered := func(in *configuration) bool { return coversRules(c.considered(in), updateRules(r)) }
	return c.live.ensure(ctx, covered, func(in *configuration) error {
		table := policy.NewTable()
		table.Resources[r.GroupResource] = r
		webhook := wanted{rules: table}.immutable()
		webhook.Name = earlyPrefix + suffixOf(definition) + ".guard.holdfast.dev"
		return c.live.addEarly(ctx, in, webhook, early{path: ImmutablePath})
	})
}
