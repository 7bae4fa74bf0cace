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
	for _, v := range versions {
		rules, refusals := schemaRules(v.root, c.options)
		c.refuseAt(v.index, refusals)
		v.rules = rules
		c.result.Rules += len(rules)
		for _, r := range rules {
			at := rawNode(v.raw, r.at)
			existing, _ := at[schema.ValidationsKeyword].([]any)
			at[schema.ValidationsKeyword] = append(existing, r.value())
		}
	}
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
		rules, refusals := policyRules(v.root, c.options)
		v.rules = rules
		switch {
		case len(rules) == 0 && len(refusals) == 0:
			continue
		case !v.Served && v.Storage && !isCovered(v, versions):
			c.refuse(fmt.Sprintf("spec.versions[%d].served", v.index), "serve the version, or mark the same fields in a served version",
				"a policy cannot see the version that objects are stored in, because it is not served")
			continue
		case !v.Served:
			continue
		}
		c.refuseAt(v.index, append(refusals, scaled(v)...))
		c.result.Rules += len(rules)
		c.result.Objects = append(c.result.Objects, policyObjects(c.def.CustomResourceDefinition, v)...)
	}
}

// isCovered reports whether a served version has the same markers.
func isCovered(v *version, versions []*version) bool {
	policy, err := immutability.Compile(v.root.Schema)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(versions, func(other *version) bool {
		if !other.Served {
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
