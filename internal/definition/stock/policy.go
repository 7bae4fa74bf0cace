package stock

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/schema"
)

// policyRules adds the expressions of the policy of a version.
func (c *compilation) policyRules(v *version) {
	marks := c.marksIn(v)
	for _, t := range targets(v.root, marks) {
		w := &writer{target: t.Schema, marker: t.marker, closed: c.options.CloseEscapes}
		expression := w.contents(v.root, operands{"object", "oldObject"})
		r := rule{at: v.root, target: t, expression: expression, estimated: expression}
		if short := w.optionalEqual(t); c.options.CloseEscapes && short != "" {
			r.expression = short
		}
		c.add(v, r, c.condition(t.mark, v.root), w.refusals)
	}
	for i := range marks {
		if m := &marks[i]; m.IsMetadata() {
			expression := metadataRule(m)
			t := target{node: v.root, marker: m.Marker, mark: m}
			c.add(v, rule{at: v.root, target: t, expression: expression, estimated: expression}, c.condition(m, v.root), nil)
		}
	}
}

// optionalEqual returns the expression that compares the value of an immutable target in both
// objects, if a value may be absent or be in an absent parent. It is empty if optional values
// cannot express that.
func (w *writer) optionalEqual(of target) string {
	if of.marker != immutability.Immutable || !w.isPlain(of.node) {
		return ""
	}
	var steps []*node
	for n := of.node; n.parent != nil; n = n.parent {
		if n.Edge != schema.Property || n != of.node && n.Schema.Nullable {
			return ""
		}
		steps = append(steps, n)
	}
	p := operands{"object", "oldObject"}
	for _, n := range slices.Backward(steps) {
		p = operands{w.optional(n, p.new), w.optional(n, p.old)}
	}
	return p.new + " == " + p.old
}

// refuseScaled refuses the rules of a version about fields that the scale subresource writes. A policy
// sees the Scale there, not the object.
func (c *compilation) refuseScaled(v *version) {
	if v.Subresources == nil || v.Subresources.Scale == nil {
		return
	}
	at, written := v.root, map[*schema.Schema]bool{}
	for _, name := range strings.Split(strings.TrimPrefix(v.Subresources.Scale.SpecReplicasPath, "."), ".") {
		if at.Schema.Properties[name] == nil {
			return
		}
		at = at.property(name)
		written[at.Schema] = true
	}
	for _, t := range targets(v.root, c.marksIn(v)) {
		if written[t.Schema] {
			c.refuse(schemaPath(v.index, t.path), "use --to cel, or remove the subresource scale",
				"the subresource scale writes this field, and a policy does not see the object in such a request")
		}
	}
}

// policyObjects returns the policy of a version and its binding.
func policyObjects(crd *definition.CustomResourceDefinition, v *version) []map[string]any {
	resources := []any{crd.Spec.Names.Plural}
	if v.Subresources != nil && v.Subresources.Status != nil {
		resources = append(resources, crd.Spec.Names.Plural+"/status")
	}
	var validations []any
	for _, r := range v.rules {
		validations = append(validations, validationEntry(r.expression, r.target.field()+": "+r.target.message()))
	}
	return admissionPolicy{crd, v, "immutability", "UPDATE", resources, validations}.objects()
}

func validationEntry(expression, message string) map[string]any {
	return map[string]any{"expression": expression, "message": message, "reason": "Invalid"}
}

// admissionPolicy is a ValidatingAdmissionPolicy with its binding.
type admissionPolicy struct {
	crd               *definition.CustomResourceDefinition
	version           *version
	prefix, operation string
	resources         []any
	validations       []any
}

// objects returns the policy and its binding, nothing if it has no validations.
func (p admissionPolicy) objects() []map[string]any {
	if len(p.validations) == 0 {
		return nil
	}
	metadata := map[string]any{
		"name":   fmt.Sprintf("%s.%s.%s", p.prefix, p.version.Name, p.crd.Name),
		"labels": map[string]any{"app.kubernetes.io/managed-by": "holdfast"},
	}
	policy := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
		"spec": map[string]any{
			"failurePolicy": "Fail",
			"matchConstraints": map[string]any{
				// With Equivalent, writes through other versions are converted to this one.
				"matchPolicy": "Equivalent",
				"resourceRules": []any{map[string]any{
					"apiGroups": []any{p.crd.Spec.Group}, "apiVersions": []any{p.version.Name},
					"operations": []any{p.operation}, "resources": p.resources,
				}},
			},
			"validations": p.validations,
		},
	}
	binding := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
		"spec": map[string]any{"policyName": metadata["name"], "validationActions": []any{"Deny"}},
	}
	return []map[string]any{policy, binding}
}
