package escape

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Remedy says how to close all escapes of the field: by required parents, by markers, and by CEL rules for servers that
// do not know markers.
func (e Escape) Remedy() string {
	fixes := e.Fixes()
	var ways []string
	for _, fix := range []Fix{fixes.Required, fixes.Marked} {
		if text := fix.String(); text != "" && !slices.Contains(ways, text) {
			ways = append(ways, text)
		}
	}
	if text := fixes.Rules.String(); text != "" && !slices.Contains(ways, text) {
		ways = append(ways, "for every Kubernetes server: "+text)
	}
	return strings.Join(ways, "; or ")
}

// String returns the steps in words. Steps of one kind are together.
func (f Fix) String() string {
	groups := map[string][]string{}
	var order []string
	for _, step := range f {
		format := step.format()
		if groups[format] == nil {
			order = append(order, format)
		}
		node := immutability.Field(step.Node)
		if step.Node == nil {
			node = "the root"
		}
		groups[format] = append(groups[format], node)
	}
	slices.Sort(order)
	var parts []string
	for _, format := range order {
		nodes := groups[format]
		slices.Sort(nodes)
		parts = append(parts, fmt.Sprintf(format, joined(nodes)))
	}
	return joined(parts)
}

// format returns the words of a step, with %s for its nodes.
func (s Step) format() string {
	switch s.Kind {
	case Require:
		return "make %s required"
	case NotNullable:
		return "remove nullable: true from %s"
	case SetType:
		return "write type: object on %s"
	case AddRule:
		rule := value.Printer{LiteralHTML: true}.Print(s.Rule)
		return "add the rule " + strings.ReplaceAll(rule, "%", "%%") + " to %s"
	}
	if keyword := s.Marker.Keyword(); keyword != schema.UpdateKeyword {
		return "add " + keyword + ": true to %s"
	}
	return fmt.Sprintf("write %s: [%s] on %%s, or %s in the annotation",
		schema.UpdateKeyword, strings.Join(s.Marker.Constraints(), ", "), s.Marker.Word())
}

// joined returns names with commas and an and.
func joined(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
