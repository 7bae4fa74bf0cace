package change

import (
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// place is a node of a skeleton.
type place struct {
	path *value.Path
	// kept is true if nothing is pruned here, because pruning is off or because of a node
	// above with x-kubernetes-no-prune.
	kept bool
}

func (p place) below(child schema.Child, updated *schema.Schema) place {
	return place{child.Path(p.path), p.kept || schema.IsTrue(updated.NoPrune)}
}

// structure compares two skeletons: fields, types, unknown fields, and how lists are merged.
func (s *schemaComparison) structure(old, updated *schema.Schema, at place) {
	if !s.types(old, updated, at.path) {
		return
	}
	s.unknownFields(old, updated, at)
	s.embedded(old, updated, at)
	s.listTypes(old, updated, at.path)
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		child := schema.Child{Edge: schema.Property, Name: name}
		if next := updated.Properties[name]; next != nil {
			s.structure(old.Properties[name], next, at.below(child, updated))
		} else if a := updated.AdditionalProperties; a != nil && a.Schema != nil {
			s.structure(old.Properties[name], a.Schema, at.below(child, updated))
		} else {
			s.removed(updated, at, child)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(updated.Properties)) {
		if old.Properties[name] == nil {
			s.added(old, at, schema.Child{Edge: schema.Property, Name: name})
		}
	}
	if a, b := old.AdditionalProperties, updated.AdditionalProperties; a != nil && b != nil && a.Schema != nil && b.Schema != nil {
		s.structure(a.Schema, b.Schema, at.below(schema.Child{Edge: schema.AdditionalProperty}, updated))
	}
	for _, pattern := range slices.Sorted(maps.Keys(old.PatternProperties)) {
		if next := updated.PatternProperties[pattern]; next != nil {
			child := schema.Child{Edge: schema.PatternProperty, Name: pattern}
			s.structure(old.PatternProperties[pattern], next, at.below(child, updated))
		}
	}
	if old.Items != nil && updated.Items != nil {
		s.structure(old.Items, updated.Items, at.below(schema.Child{Edge: schema.Item}, updated))
	}
	for i := range min(len(old.Tuple), len(updated.Tuple)) {
		s.structure(old.Tuple[i], updated.Tuple[i], at.below(schema.Child{Edge: schema.TupleItem, Index: i}, updated))
	}
}

// types compares the types of a node. It returns false if they have nothing in common, so that
// the nodes below need no comparison.
func (s *schemaComparison) types(old, updated *schema.Schema, path *value.Path) bool {
	before, after := typeName(old), typeName(updated)
	if old.Nullable && !updated.Nullable {
		s.report(path, "nullable", Change{
			Rule: typeRule, Severity: finding.Error, Message: "null is no longer a value", hit: withError,
			Reason: "the server removes a null here, or replaces it by the default",
		})
	}
	change := Change{Rule: typeRule, Message: fmt.Sprintf("changed from %s to %s", before, after)}
	switch {
	case before == after:
		return true
	case after == "any type":
		change.Severity, change.Reason = finding.Warning, "clients may read values of a type that they do not know"
		s.report(path, "type", change)
		return true
	case before == "integer" && (after == "number" || after == "integer or string"):
		change.Severity, change.Reason = finding.Warning, "clients may read values of a type that they do not know"
	case before == "string" && after == "integer or string":
		change.Severity, change.Reason = finding.Warning, "clients may read values of a type that they do not know"
	default:
		change.Severity, change.hit = finding.Error, withError
		change.Reason = "the server refuses values of the old type; stored objects keep them until they are written"
		change.wasNested = before == "object" || before == "array"
	}
	s.report(path, "type", change)
	return before == "any type"
}

func typeName(s *schema.Schema) string {
	switch {
	case s.IntOrString:
		return "integer or string"
	case s.Type == "":
		return "any type"
	}
	return s.Type
}

// unknownFields compares whether fields without a name in the schema are kept.
func (s *schemaComparison) unknownFields(old, updated *schema.Schema, at place) {
	if at.kept || keepsUnknown(old) == keepsUnknown(updated) {
		return
	}
	s.pruning(!keepsUnknown(old), at.path)
}

// keepsUnknown reports whether a node keeps fields without a name in the schema.
func keepsUnknown(n *schema.Schema) bool {
	return schema.IsTrue(n.NoPrune) || schema.IsTrue(n.PreserveUnknownFields) || n.IsMap()
}

// embedded compares whether a node is an object of Kubernetes. Such an object has a kind and valid metadata, and keeps both if the schema
// does not specify them.
func (s *schemaComparison) embedded(old, updated *schema.Schema, at place) {
	if !old.EmbeddedResource && updated.EmbeddedResource {
		s.report(at.path, schema.EmbeddedResourceKeyword, Change{
			Rule: validationRule, Severity: finding.Error, Message: "is new", hit: withError,
			Reason: "the server refuses values without apiVersion, kind and valid metadata; stored objects keep them until they are changed",
		})
	}
	if !old.EmbeddedResource || updated.EmbeddedResource {
		return
	}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		child := schema.Child{Edge: schema.Property, Name: name}
		next := updated.Properties[name]
		switch {
		case next == nil && old.Properties[name] == nil: // structure reports a field that was specified
			s.removed(updated, at, child)
		case next != nil && name == "metadata" && !at.below(child, updated).kept && !keepsUnknown(next):
			s.pruning(false, child.Path(at.path))
		}
	}
}

// removed reports a field that the new schema does not specify.
func (s *schemaComparison) removed(updated *schema.Schema, at place, child schema.Child) {
	change := Change{
		Rule: fieldRemovedRule, Severity: finding.Error, Message: "the field is gone",
		Reason: "stored objects lose it when they are read, and kubectl refuses files that set it", hit: withLoss,
	}
	if at.kept || schema.IsTrue(updated.NoPrune) || schema.IsTrue(updated.PreserveUnknownFields) || updated.IsMap() {
		change.Severity, change.hit = finding.Warning, noObject
		change.Reason = "unknown fields are kept here, so the field stays, but nothing validates it"
	}
	s.report(child.Path(at.path), "", change)
}

// added reports a field that is new.
func (s *schemaComparison) added(old *schema.Schema, at place, child schema.Child) {
	change := Change{Rule: fieldAddedRule, Severity: finding.Note, Message: "the field is new"}
	if schema.IsTrue(old.NoPrune) || schema.IsTrue(old.PreserveUnknownFields) {
		change.Severity, change.hit = finding.Warning, withError
		change.Reason = "clients could set any value here before, which is validated now"
	}
	if s.defaulted[child.Path(at.path).String()] {
		// A rule about the object may read the field.
		change.hit = withError
	}
	s.report(child.Path(at.path), "", change)
}

// listTypes compares how server-side apply merges a list or a map.
func (s *schemaComparison) listTypes(old, updated *schema.Schema, path *value.Path) {
	orAtomic := func(name string) string {
		if name == "" {
			return "atomic"
		}
		return name
	}
	before, after := orAtomic(old.ListType), orAtomic(updated.ListType)
	isList := old.Type == "array" && updated.Type == "array"
	switch {
	case isList && before != after && after == "atomic":
		s.report(path, schema.ListTypeKeyword, Change{
			Rule: listTypeRule, Severity: finding.Warning, Message: fmt.Sprintf("changed from %s to atomic", before),
			Reason: "server-side apply replaces the list as a whole, with the items of other managers",
		})
	case isList && before != after:
		s.report(path, schema.ListTypeKeyword, Change{
			Rule: listTypeRule, Severity: finding.Error, Message: fmt.Sprintf("changed from %s to %s", before, after),
			Reason: "the server refuses lists with duplicate items", hit: withError,
		})
	case isList && !slices.Equal(old.ListMapKeys, updated.ListMapKeys):
		s.report(path, schema.ListMapKeysKeyword, Change{
			Rule: listTypeRule, Severity: finding.Error,
			Message: fmt.Sprintf("changed from %v to %v", old.ListMapKeys, updated.ListMapKeys),
			Reason:  "server-side apply and markers identify items by other keys from now on", hit: withError,
		})
	}
	if old.MapType != updated.MapType && old.Type == "object" && updated.Type == "object" {
		s.report(path, schema.MapTypeKeyword, Change{
			Rule: listTypeRule, Severity: finding.Warning, Message: fmt.Sprintf("changed from %q to %q", old.MapType, updated.MapType),
			Reason: "server-side apply owns and replaces the map as a whole, or its keys one by one",
		})
	}
}
