package definition

import (
	"context"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// WithoutQuick returns a copy of c that leaves every decision to upstream's validators.
func (c *Compiled) WithoutQuick() *Compiled {
	out := *c
	reject := func() *acceptor { return &acceptor{types: objectType, required: []string{"\x00"}} }
	if v, ok := c.schema.(valueValidator); ok {
		out.schema = valueValidator{v.schema, reject}
	}
	if v, ok := c.status.(valueValidator); ok {
		out.status = valueValidator{v.schema, reject}
	}
	out.quickRules = func() *ruleNode { return nil }
	out.embeds, out.keyed = true, true
	return &out
}

// Quick reports whether upstream's validators have nothing to decide about a write.
func (c *Compiled) Quick(ctx context.Context, newObj map[string]any) (values, rules bool) {
	v, ok := c.schema.(valueValidator)
	return ok && v.acceptor().accepts(newObj, nil), c.rules != nil && c.rulesHold(ctx, newObj, Stored{})
}

// AcceptsScalar reports whether the acceptor of a schema and upstream's validator accept a value.
func AcceptsScalar(s *spec.Schema, v any) (quick, upstream bool) {
	return newAcceptor(s).accepts(v, nil), newUpstream(s).Validate(v).IsValid()
}
