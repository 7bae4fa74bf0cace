package stock

import (
	"fmt"

	"holdfast.dev/holdfast/immutability"
)

// deletionRules returns the rules of a version about the deletion of objects. As on the server, an object
// that is terminating already is not stopped.
func (c *compilation) deletionRules(v *version) []rule {
	var rules []rule
	marks := c.marksIn(v)
	for i := range marks {
		m := &marks[i]
		if !m.IsNoDelete() {
			continue
		}
		given := c.condition(m, v.root)
		t := target{node: v.root, mark: m}
		for _, reason := range given.refusals {
			c.refuse(annotationPath, "", "%s: %s", m, reason)
		}
		expression := given.apply("has(oldObject.metadata.deletionTimestamp)")
		rules = append(rules, rule{at: v.root, target: t, expression: expression, estimated: expression})
		c.result.Rules++
		for _, text := range given.notes {
			c.note(t, "%s", text)
		}
		c.note(t, "a policy answers 422, not 409; the deletion of the definition deletes the objects, "+
			"and the deletion of their namespace begins and does not end")
	}
	return rules
}

// deletionObjects returns the policy of a version for DELETE and its binding.
func (c *compilation) deletionObjects(v *version, rules []rule) []map[string]any {
	crd := c.def.CustomResourceDefinition
	var validations []any
	for _, r := range rules {
		validations = append(validations, validationEntry(r.expression, keptMessage(r.target.mark)))
	}
	return admissionPolicy{crd, v, "no-delete", "DELETE", []any{crd.Spec.Names.Plural}, validations}.objects()
}

// keptMessage says that a rule keeps an object, without the words for a changed field.
func keptMessage(m *immutability.Mark) string {
	text := fmt.Sprintf("the rule %q keeps it", m)
	if m.Unless != "" {
		text += " (a user that may " + m.Unless + " it can delete it)"
	}
	return text
}
