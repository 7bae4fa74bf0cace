package stock

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/schema"
)

// policyRules returns the expressions of a policy for a schema.
func policyRules(root *node, options Options) ([]rule, []Refusal) {
	var rules []rule
	var refusals []Refusal
	for _, target := range targets(root) {
		w := &writer{target: target.Schema, closed: options.CloseEscapes}
		expression := w.contents(root, operands{"object", "oldObject"})
		refusals = append(refusals, w.refusals...)
		if expression == "true" || len(w.refusals) > 0 {
			continue
		}
		r := rule{at: root, target: target, expression: expression, estimated: expression}
		if short := w.optionalEqual(target); options.CloseEscapes && short != "" {
			r.expression = short
		}
		rules = append(rules, r)
	}
	return rules, refusals
}

// optionalEqual returns the expression that compares the value of an immutable target in both
// objects, if a value may be absent or be in an absent parent. It is empty if optional values
// cannot express that.
func (w *writer) optionalEqual(target *node) string {
	if target.marker() != immutability.Immutable || !w.isPlain(target) {
		return ""
	}
	var steps []*node
	for n := target; n.parent != nil; n = n.parent {
		if n.Edge != schema.Property || n != target && n.Schema.Nullable {
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

// scaled returns a refusal if the scale subresource writes a field with a marker. A policy sees
// the Scale there, not the object.
func scaled(v *version) []Refusal {
	if v.Subresources == nil || v.Subresources.Scale == nil {
		return nil
	}
	at := v.root
	for _, name := range strings.Split(strings.TrimPrefix(v.Subresources.Scale.SpecReplicasPath, "."), ".") {
		if at.Schema.Properties[name] == nil {
			return nil
		}
		at = at.property(name)
		if at.marker() == immutability.Immutable {
			return []Refusal{{
				at:      at,
				Message: "the subresource scale writes this field, and a policy does not see the object in such a request",
				Fix:     "use --to cel, or remove the subresource scale",
			}}
		}
	}
	return nil
}

// policyObjects returns the policy of a version and its binding.
func policyObjects(crd *definition.CustomResourceDefinition, v *version) []map[string]any {
	resources := []any{crd.Spec.Names.Plural}
	if v.Subresources != nil && v.Subresources.Status != nil {
		resources = append(resources, crd.Spec.Names.Plural+"/status")
	}
	var validations []any
	for _, r := range v.rules {
		validations = append(validations, map[string]any{
			"expression": r.expression, "message": r.policyMessage(), "reason": "Invalid",
		})
	}
	metadata := map[string]any{
		"name":   fmt.Sprintf("immutability.%s.%s", v.Name, crd.Name),
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
					"apiGroups": []any{crd.Spec.Group}, "apiVersions": []any{v.Name},
					"operations": []any{"UPDATE"}, "resources": resources,
				}},
			},
			"validations": validations,
		},
	}
	binding := map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
		"spec": map[string]any{"policyName": metadata["name"], "validationActions": []any{"Deny"}},
	}
	return []map[string]any{policy, binding}
}

// policyMessage returns the message of a rule in a policy, which has no place for the path.
func (r rule) policyMessage() string {
	field := immutability.Field(r.target.path)
	if m := r.target.marker(); m != immutability.Immutable {
		return field + ": " + message(m)
	}
	return field + " " + message(immutability.Immutable)
}
