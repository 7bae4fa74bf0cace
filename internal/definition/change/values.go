package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/logic"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// values compares which values two schemas accept, and defaults. It visits the nodes that
// both schemas have outside of logic.
func (s *schemaComparison) values(old, updated *schema.Schema, path *value.Path) {
	s.limits(old, updated, path)
	s.enum(old, updated, path)
	s.required(old, updated, path)
	s.defaults(old, updated, path)
	s.rules(old, updated, path)
	s.logic(old, updated, path)
	for child := range old.Children() {
		if child.Edge > schema.AdditionalItem {
			break
		}
		if other := counterpart(updated, child); other != nil {
			s.values(child.Schema, other, child.Path(path))
		}
	}
}

// counterpart returns the child of s with the same edge, nil if there is none.
func counterpart(s *schema.Schema, child schema.Child) *schema.Schema {
	if child.Edge == schema.Property {
		return s.Properties[child.Name] // an object may have thousands
	}
	for other := range s.Children() {
		if other.Edge == child.Edge && other.Name == child.Name && other.Index == child.Index {
			return other.Schema
		}
	}
	return nil
}

// validation reports that the schema accepts fewer values, or more.
func (s *schemaComparison) validation(path *value.Path, keyword, message string, stricter bool) {
	change := Change{Rule: validationRule, Severity: finding.Note, Message: message, Reason: "more values are accepted"}
	if stricter {
		change.Severity, change.hit = finding.Error, withError
		change.Reason = "the server refuses values that it accepted; stored objects keep them until they are changed"
	}
	s.report(path, keyword, change)
}

// limits compares the keywords in limitKeywords, pattern, format, multipleOf, exclusiveMaximum and
// exclusiveMinimum.
func (s *schemaComparison) limits(old, updated *schema.Schema, path *value.Path) {
	if keepsEnum(old, updated) {
		return
	}
	for _, k := range limitKeywords {
		before, after := k.of(old), k.of(updated)
		if before == after {
			continue
		}
		stricter := before == "" || after != "" && isLess(after, before) == k.isMaximum
		s.validation(path, k.name, changed(before, after), stricter)
	}
	for _, k := range []struct{ name, before, after string }{
		{"pattern", old.Pattern, updated.Pattern},
		{"format", checkedFormat(old), checkedFormat(updated)},
		{"multipleOf", string(old.MultipleOf), string(updated.MultipleOf)},
	} {
		if k.before != k.after && (k.name != "pattern" || !isSamePattern(k.before, k.after)) {
			s.validation(path, k.name, changed(k.before, k.after), k.after != "")
		}
	}
	for _, k := range []struct {
		name          string
		before, after bool
	}{
		{"exclusiveMaximum", old.ExclusiveMaximum, updated.ExclusiveMaximum},
		{"exclusiveMinimum", old.ExclusiveMinimum, updated.ExclusiveMinimum},
	} {
		if k.before != k.after {
			s.validation(path, k.name, fmt.Sprintf("changed from %t to %t", k.before, k.after), k.after)
		}
	}
}

// limitKeywords are the keywords with a limit, as numbers in text; empty if there is none.
var limitKeywords = []struct {
	name      string
	isMaximum bool
	of        func(*schema.Schema) string
}{
	{"maximum", true, func(s *schema.Schema) string { return string(s.Maximum) }},
	{"minimum", false, func(s *schema.Schema) string { return string(s.Minimum) }},
	{"maxLength", true, func(s *schema.Schema) string { return count(s.MaxLength) }},
	{"minLength", false, func(s *schema.Schema) string { return least(s.MinLength) }},
	{"maxItems", true, func(s *schema.Schema) string { return count(s.MaxItems) }},
	{"minItems", false, func(s *schema.Schema) string { return least(s.MinItems) }},
	{"maxProperties", true, func(s *schema.Schema) string { return count(s.MaxProperties) }},
	{"minProperties", false, func(s *schema.Schema) string { return least(s.MinProperties) }},
}

// checkedFormat returns the format of a schema, empty if the server does not check it.
func checkedFormat(s *schema.Schema) string {
	if !definition.ChecksFormat(s) {
		return ""
	}
	return s.Format
}

func count(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// least returns a lower limit. Every value has at least 0 items.
func least(n *int64) string {
	if n != nil && *n == 0 {
		return ""
	}
	return count(n)
}

// keepsEnum reports whether the old schema accepts only some texts, and the limits of the new one accept all of them.
func keepsEnum(old, updated *schema.Schema) bool {
	pattern, err := regexp.Compile(updated.Pattern)
	if len(old.Enum) == 0 || err != nil || updated.Format != old.Format {
		return false
	}
	for _, v := range old.Enum {
		text, ok := v.(string)
		length := int64(utf8.RuneCountInString(text))
		if !ok || updated.MinLength != nil && length < *updated.MinLength || updated.MaxLength != nil && length > *updated.MaxLength ||
			!pattern.MatchString(text) {
			return false
		}
	}
	return true
}

// isSamePattern reports whether two patterns accept the same values, because they differ only in how they are written.
func isSamePattern(a, b string) bool {
	before, err := syntax.Parse(a, syntax.Perl)
	after, alsoErr := syntax.Parse(b, syntax.Perl)
	return a != "" && b != "" && err == nil && alsoErr == nil && before.Simplify().Equal(after.Simplify())
}

// isLess compares two numbers in text.
func isLess(a, b string) bool {
	return value.Strict.Compare(json.Number(a), json.Number(b)) < 0
}

func changed(before, after string) string {
	switch {
	case before == "":
		return "is new: " + after
	case after == "":
		return "is gone: " + before
	}
	return fmt.Sprintf("changed from %s to %s", before, after)
}

func (s *schemaComparison) enum(old, updated *schema.Schema, path *value.Path) {
	missing := func(from, in []any) []string {
		var texts []string
		for _, v := range from {
			if !slices.ContainsFunc(in, func(other any) bool { return value.Strict.Equal(v, other) }) {
				texts = append(texts, text(v))
			}
		}
		return texts
	}
	gone, added := missing(old.Enum, updated.Enum), missing(updated.Enum, old.Enum)
	switch {
	case len(old.Enum) == 0 && len(updated.Enum) > 0:
		s.validation(path, "enum", "only some values are accepted: "+strings.Join(added, ", "), true)
	case len(updated.Enum) == 0 && len(old.Enum) > 0:
		s.validation(path, "enum", "is gone: "+strings.Join(gone, ", "), false)
	default:
		if len(gone) > 0 {
			s.validation(path, "enum", "no longer accepted: "+strings.Join(gone, ", "), true)
		}
		if len(added) > 0 {
			s.validation(path, "enum", "newly accepted: "+strings.Join(added, ", "), false)
		}
	}
}

func (s *schemaComparison) required(old, updated *schema.Schema, path *value.Path) {
	hasDefault := func(s *schema.Schema, name string) bool {
		return s.Properties[name] != nil && s.Properties[name].Default != nil
	}
	for _, name := range updated.Required {
		if slices.Contains(old.Required, name) && (!hasDefault(old, name) || hasDefault(updated, name)) {
			continue
		}
		change := Change{
			Rule: requiredRule, Severity: finding.Error, Message: "the field is required", hit: withError,
			Reason: "the server refuses objects without it; stored objects stay until they are changed",
		}
		if hasDefault(updated, name) {
			change.Severity, change.Reason, change.hit = finding.Note, "objects without it get the default", noObject
		}
		s.report(path.Child("properties").Key(name), "", change)
	}
	for _, name := range old.Required {
		if !slices.Contains(updated.Required, name) && updated.Properties[name] != nil {
			s.report(path.Child("properties").Key(name), "", Change{
				Rule: requiredRule, Severity: finding.Warning, Message: "the field is no longer required",
				Reason: "clients may read objects without it",
			})
		}
	}
}

func (s *schemaComparison) defaults(old, updated *schema.Schema, path *value.Path) {
	// A rule may read the field.
	change := Change{Rule: defaultRule, Severity: finding.Warning, hit: withError}
	switch {
	case value.Strict.Equal(old.Default, updated.Default):
	case old.Default == nil:
		change.Message, change.hit = "is new: "+text(updated.Default), withoutField
		change.Reason = "stored objects without the field have the default from now on"
		s.report(path, "default", change)
	case updated.Default == nil:
		change.Message = "is gone: " + text(old.Default)
		change.Reason = "clients may read objects without the field"
		s.report(path, "default", change)
	default:
		change.Message = fmt.Sprintf("changed from %s to %s", text(old.Default), text(updated.Default))
		change.Reason = "new objects without the field behave differently; stored objects have the old default"
		s.report(path, "default", change)
	}
	before, after := old.Normalize != nil, updated.Normalize != nil
	if before != after {
		message := "empty values are no longer removed"
		if after {
			message = "empty values are removed"
		}
		s.report(path, schema.NormalizeKeyword, Change{
			Rule: normalizeRule, Severity: finding.Warning, Message: message,
			Reason: "absent and empty are different for markers and for clients that compare objects",
		})
	}
}

func (s *schemaComparison) rules(old, updated *schema.Schema, path *value.Path) {
	texts := func(rules []*schema.ValidationRule) map[string]bool {
		all := map[string]bool{}
		for _, rule := range rules {
			all[strings.TrimSpace(rule.Rule)] = true
		}
		return all
	}
	before, after := texts(old.Validations), texts(updated.Validations)
	for _, rule := range slices.Sorted(maps.Keys(after)) {
		if before[rule] {
			continue
		}
		change := Change{
			Rule: celRule, Severity: finding.Error, Message: "a rule is new: " + rule, hit: withError,
			Reason: "the server refuses objects and updates that break the rule",
		}
		if s.keepsDefaults && logic.Follows(rule, old, updated) {
			change.Severity, change.Reason = finding.Note, "no object that was accepted breaks it: it is about fields or values that are new"
		}
		s.report(path, schema.ValidationsKeyword, change)
	}
	for _, rule := range slices.Sorted(maps.Keys(before)) {
		if !after[rule] {
			s.report(path, schema.ValidationsKeyword, Change{
				Rule: celRule, Severity: finding.Note, Message: "a rule is gone: " + rule, Reason: "more values are accepted",
			})
		}
	}
}

// sameDefaults reports whether all nodes that two schemas have in common have the same default.
func sameDefaults(old, updated *schema.Schema) bool {
	if !value.Strict.Equal(old.Default, updated.Default) {
		return false
	}
	for child := range old.Children() {
		if other := counterpart(updated, child); other != nil && !sameDefaults(child.Schema, other) {
			return false
		}
	}
	return true
}

// logic reports changes inside of allOf, anyOf, oneOf and not, which are not compared further.
func (s *schemaComparison) logic(old, updated *schema.Schema, path *value.Path) {
	if !hasLogic(old) && !hasLogic(updated) {
		return
	}
	of := func(s *schema.Schema) string {
		logic := schema.Schema{AllOf: s.AllOf, AnyOf: s.AnyOf, OneOf: s.OneOf, Not: s.Not}
		encoded, err := json.Marshal(&logic)
		if err != nil {
			return err.Error()
		}
		return string(encoded)
	}
	if of(old) != of(updated) {
		s.report(path, "", Change{
			Rule: notComparableRule, Severity: finding.Warning, Message: "allOf, anyOf, oneOf or not changed", hit: withError,
			Reason: "the server may refuse values that it accepted; compare the schemas yourself",
		})
	}
}

// hasLogic reports whether a node has allOf, anyOf, oneOf or not.
func hasLogic(s *schema.Schema) bool {
	return len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil
}
