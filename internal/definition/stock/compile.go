package stock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/schema"
)

// compileRules writes transition rules into the schemas.
func (c *compilation) compileRules(versions []*version) {
	c.refuseDivergence(versions)
	c.refuseMarks(versions)
	for _, v := range versions {
		c.schemaRules(v)
		for _, r := range v.rules {
			at := rawNode(v.raw, r.at)
			existing, _ := at[schema.ValidationsKeyword].([]any)
			at[schema.ValidationsKeyword] = append(existing, r.value())
		}
	}
}

// refuseMarks refuses the marks that no rule in a schema can say.
func (c *compilation) refuseMarks(versions []*version) {
	for _, m := range c.marks {
		reason := ""
		switch {
		case m.IsNoDelete():
			reason = "a CEL rule in a schema does not see deletions"
		case m.IsMetadata():
			reason = "a CEL rule in a schema does not see labels and annotations"
		case m.Unless != "":
			reason = "a CEL rule in a schema cannot ask for the rights of a user (unless)"
		case slices.ContainsFunc(versions, func(v *version) bool { return (v.Served || v.Storage) && !counts(m, v) }):
			reason = "not every version has the rule, and Kubernetes runs only the rules of the version in a request"
		default:
			continue
		}
		c.refuse(annotationPath, "use --to policy", "%s: %s", m, reason)
	}
}

// counts reports whether a version has the rule.
func counts(m immutability.Mark, v *version) bool {
	return m.In(v.Name) && (m.IsNoDelete() || m.IsMetadata() || m.SchemaNode(v.root.Schema) != nil)
}

// marksIn returns the marks of a version that are judged by themselves.
func (c *compilation) marksIn(v *version) []immutability.Mark {
	return slices.DeleteFunc(slices.Clone(c.marks), func(m immutability.Mark) bool { return !counts(m, v) })
}

// rawNode returns a node of a schema as JSON decoding gives it.
func rawNode(root map[string]any, n *node) map[string]any {
	if n.parent == nil {
		return root
	}
	parent := rawNode(root, n.parent)
	var child any
	switch n.Edge {
	case schema.Property:
		properties, _ := parent["properties"].(map[string]any)
		child = properties[n.Name]
	case schema.AdditionalProperty:
		child = parent["additionalProperties"]
	default:
		child = parent["items"]
	}
	object, _ := child.(map[string]any)
	return object
}

// refuseDivergence refuses markers that not every version has. A stock cluster runs only the rules
// of the version in the request.
func (c *compilation) refuseDivergence(versions []*version) {
	var used []immutability.Version
	for _, v := range versions {
		if v.Served || v.Storage {
			used = append(used, immutability.Version{Name: v.Name, Schema: v.root.Schema})
		}
	}
	if len(used) < 2 {
		return
	}
	for _, d := range immutability.Divergent(used) {
		var said []string
		index := 0
		for _, m := range d.Markers {
			said = append(said, m.Marker.String()+" in "+m.Version)
			if m.Marker != immutability.Free {
				index = slices.IndexFunc(c.def.Spec.Versions, func(v definition.CustomResourceDefinitionVersion) bool { return v.Name == m.Version })
			}
		}
		c.refuse(schemaPath(index, d.Path), "mark it in every version, or use --to policy",
			"%s, and Kubernetes runs only the rules of the version in a request", strings.Join(said, ", "))
	}
}

// compilePolicies makes the policies.
func (c *compilation) compilePolicies(versions []*version) {
	for _, v := range versions {
		if len(targets(v.root, c.marksIn(v))) == 0 && len(c.marksIn(v)) == 0 {
			continue
		}
		if !v.Served {
			if v.Storage && !c.isCovered(v, versions) {
				c.refuse(fmt.Sprintf("spec.versions[%d].served", v.index), "serve the version, or mark the same fields in a served version",
					"a policy cannot see the version that objects are stored in, because it is not served")
			}
			continue
		}
		c.policyRules(v)
		c.refuseScaled(v)
		c.refuseErasing(v, versions)
		c.result.Objects = append(c.result.Objects, policyObjects(c.def.CustomResourceDefinition, v)...)
		deletions := c.deletionRules(v)
		c.result.Objects = append(c.result.Objects, c.deletionObjects(v, deletions)...)
		v.rules = append(v.rules, deletions...)
	}
}

// refuseErasing refuses rules about fields that another served version does not have. Kubernetes prunes
// the stored object when it reads it for a write through that version, so that the write erases the
// field, and a policy sees neither the old nor the new value.
func (c *compilation) refuseErasing(v *version, versions []*version) {
	for _, other := range versions {
		if other == v || !other.Served {
			continue
		}
		for _, t := range targets(v.root, c.marksIn(v)) {
			switch {
			case keeps(other.root, t.node):
			case c.def.Spec.ConvertsNothing():
				c.refuse(schemaPath(v.index, t.path), fmt.Sprintf("add the field to %s, or do not serve %s", other.Name, other.Name),
					"%s: version %s is served and lacks the field, so a write through it erases the value, which a policy does not see", t, other.Name)
			default:
				c.note(t, "version %s lacks the field: a write through it erases the value, unless the conversion webhook keeps it", other.Name)
			}
		}
	}
}

// keeps reports whether the field of a node in another version stays when an object is pruned.
func keeps(root, of *node) bool {
	if of.parent == nil {
		return true
	}
	if !keeps(root, of.parent) {
		return false
	}
	at := root.same(of.parent)
	return at == nil || at.keepsUnknown() || root.same(of) != nil
}

// same returns the node for the field of a node of another version, nil if there is none.
func (n *node) same(other *node) *node {
	if other.parent == nil {
		return n
	}
	at := n.same(other.parent)
	if at == nil {
		return nil
	}
	switch {
	case other.Edge == schema.Property && at.Schema.Properties[other.Name] != nil:
		return at.property(other.Name)
	case other.Edge == schema.AdditionalProperty:
		return at.values()
	case other.Edge == schema.Item && at.Schema.Items != nil:
		return at.items()
	case other.Edge == schema.Property:
		return at.values()
	}
	return nil
}

// isCovered reports whether a served version has the same rules.
func (c *compilation) isCovered(v *version, versions []*version) bool {
	policy, err := immutability.Compile(v.root.Schema)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(versions, func(other *version) bool {
		if !other.Served || slices.ContainsFunc(c.marksIn(v), func(m immutability.Mark) bool { return !counts(m, other) }) {
			return false
		}
		otherPolicy, err := immutability.Compile(other.root.Schema)
		return err == nil && policy.Equal(otherPolicy)
	})
}

// verify validates the compiled definition as Kubernetes does, and refuses rules that cost too
// much.
func (c *compilation) verify(ctx context.Context, versions []*version) {
	if errs := definition.KubernetesErrors(ctx, c.def.CustomResourceDefinition); len(errs) > 0 {
		for _, err := range errs {
			c.refuse(err.Field, "", "%s (in Kubernetes; this server accepts it)", err.ErrorBody())
		}
		return
	}
	for _, v := range versions {
		if v.Served || c.options.Target == CEL {
			c.refuseExpensive(v)
		}
	}
	if c.failed() {
		return
	}
	compiled, err := decode(c.def.Object, c.raw)
	if err != nil {
		c.refuse("", "", "%v", err)
		return
	}
	for _, path := range compiled.Unknown {
		c.refuse(path, "", "is no field")
	}
	c.refuseErrors(compiled.Write.Validate(ctx, compiled.CustomResourceDefinition))
}
