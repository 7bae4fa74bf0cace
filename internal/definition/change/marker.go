package change

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition/escape"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// annotationPath is the place of the rules that the annotation states.
const annotationPath = "metadata.annotations[" + immutability.Annotation + "]"

// The reasons of changes of rules.
const (
	loosenedReason    = "clients that rely on the field not changing may break"
	tightenedReason   = "the server refuses updates that change it, which it accepted before"
	deletableReason   = "clients that rely on the object staying may break"
	undeletableReason = "the server refuses deletions that it accepted before"
)

// markers reports rules that forbid more or less than before, and escapes that are new.
func (s *schemaComparison) markers(old, updated protection) {
	compared := subjects(old, updated)
	// A field with other rules has one change for all of them.
	isCompared := func(w immutability.Weakening) bool {
		return slices.ContainsFunc(compared, func(m immutability.Mark) bool { return schemaPath(m).Equal(w.Path) })
	}
	for _, w := range immutability.Weakened(old.schema, updated.schema) {
		if !isCompared(w) {
			s.report(w.Path, "", Change{
				Rule: loosenedRule, Severity: finding.Warning, Message: fmt.Sprintf("changed from %s to %s", w.Old, w.New),
				Reason: loosenedReason, hit: withField,
			})
		}
	}
	// A marker that is weaker in the old schema than in the new one was tightened.
	for _, w := range immutability.Weakened(updated.schema, old.schema) {
		if !isCompared(w) {
			s.report(w.Path, "", Change{
				Rule: tightenedRule, Severity: finding.Error, Message: fmt.Sprintf("changed from %s to %s", w.New, w.Old),
				Reason: tightenedReason, hit: withField,
			})
		}
	}
	for _, m := range compared {
		for _, change := range compareRules(old, updated, m) {
			if m.IsNoDelete() || m.IsMetadata() {
				s.annotated(m, change)
			} else {
				s.report(schemaPath(m), "", change)
			}
		}
	}
	s.escapes(old.schema, updated.schema)
}

// compareRules returns the changes of the rules about the field of a mark, without their place.
func compareRules(old, updated protection, m immutability.Mark) []Change {
	before, after := old.at(m), updated.at(m)
	lost := slices.DeleteFunc(slices.Clone(before), updated.forbids)
	gained := slices.DeleteFunc(slices.Clone(after), old.forbids)
	message := fmt.Sprintf("changed from %s to %s", words(before), words(after))
	loosened := Change{Rule: loosenedRule, Severity: finding.Warning, Message: message, Reason: loosenedReason, hit: withField}
	tightened := Change{Rule: tightenedRule, Severity: finding.Error, Message: message, Reason: tightenedReason, hit: withField}
	if m.IsNoDelete() {
		loosened.Reason, loosened.hit = deletableReason, everyObject
		tightened.Reason, tightened.hit = undeletableReason, everyObject
	}
	switch {
	case len(lost) == 0 && len(gained) == 0:
		return nil
	case len(lost) == 0:
		return []Change{tightened}
	case len(gained) == 0:
		loosened.Reason = openings(lost, after, loosened.Reason)
		return []Change{loosened}
	}
	if reason := incomparable(lost, gained); reason != "" {
		loosened.Rule, loosened.Reason = notComparableRule, reason
		return []Change{loosened}
	}
	return []Change{loosened, tightened}
}

// openings returns what the new rules allow that the old ones forbid: some users, or some objects. Without such rules it returns the
// other reason.
func openings(lost, after []immutability.Mark, otherwise string) string {
	var all []string
	add := func(text string) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, was := range lost {
		for _, is := range after {
			if is.Unless != "" && was.Unless == "" {
				add("a user that may " + is.Unless + " the object can break the rule from now on")
			}
			if is.While != "" && was.While == "" {
				add("the rule holds only while " + is.While)
			}
		}
	}
	if len(all) == 0 {
		return otherwise
	}
	return strings.Join(all, "; ")
}

// incomparable returns why rules that are gone and rules that are new cannot be compared: they have different conditions or verbs. The
// result is empty if each constraint is just gone or new.
func incomparable(lost, gained []immutability.Mark) string {
	for _, was := range lost {
		for _, is := range gained {
			switch {
			case was.While != is.While && was.While != "" && is.While != "":
				return fmt.Sprintf("the condition was %s and is %s: they cannot be compared, so the rule may be weaker", was.While, is.While)
			case was.Unless != is.Unless && was.Unless != "" && is.Unless != "":
				return fmt.Sprintf("the verb was %s and is %s: other users may have it, so the rule may be weaker", was.Unless, is.Unless)
			case was.Unless != is.Unless && was.While != is.While:
				return "a rule with a verb and one with a condition cannot be compared, so the rule may be weaker"
			}
		}
	}
	return ""
}

// schemaPath returns the path in a schema of the field of a mark.
func schemaPath(m immutability.Mark) *value.Path {
	var path *value.Path
	for _, step := range m.Path.Steps() {
		child := schema.Child{Edge: schema.Property, Name: step.Name}
		switch step.Kind {
		case value.AnyName:
			child = schema.Child{Edge: schema.AdditionalProperty}
		case value.AnyItem:
			child = schema.Child{Edge: schema.Item}
		}
		path = child.Path(path)
	}
	return path
}

// annotated adds a change of a rule that only the annotation can have, of the version that is compared.
func (s *schemaComparison) annotated(m immutability.Mark, change Change) {
	change.Path = annotationPath
	change.Version = s.version
	subject := "deletion"
	if !m.IsNoDelete() {
		change.Field = m.Path.String()
		subject = change.Field
	}
	change.Message = subject + ": " + change.Message
	s.add(change)
}

// joinVersions replaces equal changes of the annotation by one, if all versions that both definitions have show it. Otherwise it
// names the version of each.
func (c *comparison) joinVersions() {
	total := 0
	for i := range c.newCRD.Spec.Versions {
		if c.oldCRD.Spec.Version(c.newCRD.Spec.Versions[i].Name) != nil {
			total++
		}
	}
	isSame := func(a, b Change) bool { return a.Path == b.Path && a.Rule == b.Rule && a.Message == b.Message }
	var joined []Change
	for _, change := range c.found {
		if change.Version == "" || !strings.HasPrefix(change.Path, "metadata.") {
			joined = append(joined, change)
			continue
		}
		count := 0
		for _, other := range c.found {
			if isSame(change, other) {
				count++
			}
		}
		if count < total {
			change.Message += " in version " + change.Version
		} else {
			change.Version = ""
		}
		if !slices.ContainsFunc(joined, func(other Change) bool { return isSame(change, other) }) {
			joined = append(joined, change)
		}
	}
	c.found = joined
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
