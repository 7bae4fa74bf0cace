package change

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/schema"
)

// markers reports markers that forbid more or less than before, and escapes that are new.
func (s *schemaComparison) markers(old, updated *schema.Schema) {
	for _, w := range immutability.Weakened(old, updated) {
		s.report(w.Path, "", Change{
			Rule: loosenedRule, Severity: finding.Warning, Message: fmt.Sprintf("changed from %s to %s", w.Old, w.New),
			Reason: "clients that rely on the field not changing may break", hit: withField,
		})
	}
	// A marker that is weaker in the old schema than in the new one was tightened.
	for _, w := range immutability.Weakened(updated, old) {
		s.report(w.Path, "", Change{
			Rule: tightenedRule, Severity: finding.Error, Message: fmt.Sprintf("changed from %s to %s", w.New, w.Old),
			Reason: "the server refuses updates that change it, which it accepted before", hit: withField,
		})
	}
	s.escapes(old, updated)
}

// escapes reports the escapes of fields that were protected before and had no such escape.
func (s *schemaComparison) escapes(old, updated *schema.Schema) {
	type key struct{ field, parent, rule string }
	keyOf := func(e escape.Escape) key { return key{e.Field.String(), e.Parent.String(), e.Rule} }
	known := map[key]bool{}
	for _, e := range escape.Find(old) {
		known[keyOf(e)] = true
	}
	protected := map[string]bool{}
	schema.Walk(old, func(v *schema.Visit) bool {
		if immutability.MarkerOf(v.Schema) != immutability.Free {
			protected[v.Path.String()] = true
		}
		for _, rule := range v.Schema.Validations {
			protected[strings.TrimSpace(rule.Rule)] = true
		}
		return true
	})
	for _, e := range escape.Find(updated) {
		promise := e.Rule
		if promise == "" {
			promise = e.Field.String()
		}
		if known[keyOf(e)] || !protected[promise] {
			continue
		}
		s.report(e.Field, "", Change{
			Rule: escapeRule, Severity: finding.Warning, Message: e.Problem(), Reason: "to close it: " + e.Remedy(), hit: withField,
		})
	}
}
