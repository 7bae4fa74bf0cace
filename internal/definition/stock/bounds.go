package stock

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// refuseExpensive estimates the cost of every rule of a version, and refuses the marker of a rule
// whose cost is over the limit of Kubernetes.
func (c *compilation) refuseExpensive(v *version) {
	estimate := ruleCost
	if c.options.Target == Policy {
		estimate = policyCost
	}
	for _, r := range v.rules {
		cost, err := estimate(r)
		path := schemaPath(v.index, r.target.path)
		switch {
		case err != nil && r.target.mark != nil:
			c.refuse(annotationPath, "", "%s: Kubernetes refuses the rule for it: %v", r.target.mark, err)
		case err != nil:
			c.refuse(path, "", "Kubernetes refuses the rule for it: %v", err)
		case cost > limit && (r.target.mark == nil || !r.target.mark.IsMetadata() && !r.target.mark.IsNoDelete()):
			fits := func() bool {
				cost, err := estimate(r)
				return err == nil && cost <= limit
			}
			c.refuse(path, suggestion(r.target, fits), "the rule for it is too expensive for Kubernetes: %s", excess(cost))
		}
	}
}

// excess says by how much a cost is over the limit.
func excess(cost uint64) string {
	factor := float64(cost) / limit
	if factor > 100 {
		return "with the largest values it costs more than 100 times the limit"
	}
	return fmt.Sprintf("with the largest values it costs %.1f times the limit", factor)
}

// bound is a bound that a list, map or string does not have. Kubernetes takes the size of a
// request for the size of such a value, which makes rules expensive.
type bound struct {
	node *node
	// keyword is the keyword of the bound, such as maxItems, and field its place in the schema of
	// the node.
	keyword string
	field   **int64
}

// suggestion returns a fix for a rule that is too expensive. It gives all missing bounds the same
// number, a smaller one each time, until fits reports that the rule is no longer too expensive.
func suggestion(of target, fits func() bool) string {
	missing := unbounded(of)
	for size := int64(1 << 14); size >= 4 && len(missing) > 0; size /= 2 {
		for _, b := range missing {
			*b.field = &size
		}
		ok := fits()
		for _, b := range missing {
			*b.field = nil
		}
		if !ok {
			continue
		}
		var parts []string
		for _, b := range missing {
			parts = append(parts, fmt.Sprintf("%s: %d to %s", b.keyword, size, immutability.Field(b.node.path)))
		}
		return "for example, add " + strings.Join(parts, ", ")
	}
	return "lower the bounds of the lists, maps and strings in it"
}

// unbounded returns the missing bounds on which the cost of the rule of a target depends: those of
// lists and maps around the target, and those of lists, maps and strings in its value.
func unbounded(of target) []bound {
	var found []bound
	add := func(n *node) {
		s := n.Schema
		b := bound{node: n}
		switch {
		case n.isList():
			b.keyword, b.field = "maxItems", &s.MaxItems
		case n.isMap():
			b.keyword, b.field = "maxProperties", &s.MaxProperties
		case s.IntOrString || s.Type == "string" && len(s.Enum) == 0 && !hasKnownSize(s):
			b.keyword, b.field = "maxLength", &s.MaxLength
		default:
			return
		}
		if *b.field == nil {
			found = append(found, b)
		}
	}
	var above []*node
	for n := of.parent; n != nil; n = n.parent {
		above = append(above, n)
	}
	for i := len(above) - 1; i >= 0; i-- {
		add(above[i])
	}
	of.find(func(n *node) bool {
		if of.marker&immutability.NoModify != 0 || n == of.node || n.isListKey() && n.parent.parent == of.node {
			add(n)
		}
		return false
	})
	return found
}

// hasKnownSize reports whether the format of a string bounds its length.
func hasKnownSize(s *schema.Schema) bool {
	return s.Format == "date" || s.Format == "date-time" || s.Format == "duration"
}
