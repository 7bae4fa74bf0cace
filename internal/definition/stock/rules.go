package stock

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// rule is a CEL rule for a marker.
type rule struct {
	// at is the node that has the rule, and target the node with the marker. at is the root for a
	// policy.
	at, target *node
	expression string
	// estimated is the expression whose cost is estimated. It differs from expression only if
	// expression has optional values, which the estimator takes for infinitely expensive. Both have
	// the same result.
	estimated string
}

// signature ends the rules that this package writes, as a comment. Compile removes such rules
// from a definition before it writes new ones.
const signature = " // holdfast schema compile"

// schemaRules returns the transition rules of a schema.
func schemaRules(root *node, options Options) ([]rule, []Refusal) {
	var rules []rule
	var refusals []Refusal
	for _, target := range targets(root) {
		w := &writer{target: target.Schema, typed: true, closed: options.CloseEscapes}
		at := attachment(target, options)
		self := operands{"self", "oldSelf"}
		expression := ""
		if at == target {
			expression = w.check(at, self)
		} else {
			expression = w.contents(at, self)
		}
		refusals = append(refusals, w.refusals...)
		if expression != "true" && len(w.refusals) == 0 {
			rules = append(rules, rule{at: at, target: target, expression: expression, estimated: expression})
		}
	}
	return rules, refusals
}

// attachment returns the node at which the rule of a target stands. CEL runs a transition rule
// only if both objects have the value of its node. So the rule of a property stands at its parent,
// where it sees the property come and go. CEL matches values of maps and items of lists of type
// map by their keys, but not items of other lists; there the rule stands at the list.
func attachment(target *node, options Options) *node {
	at := target
	if at.Edge == schema.Property || at.Schema.Nullable {
		at = at.parent
	}
	for options.CloseEscapes && at != target && at.Edge == schema.Property && !at.isContainer() {
		at = at.parent
	}
	for n := at; n.parent != nil; n = n.parent {
		if n.Edge == schema.Item && n.parent.Schema.ListType != "map" {
			at = n.parent
		}
	}
	return at
}

// isContainer reports whether n is a list or map.
func (n *node) isContainer() bool { return n.isList() || n.isMap() }

// fieldPath returns the path from the node of the rule to its target, as a rule in a schema names
// it. It is empty if it leads through a map or list.
func (r rule) fieldPath() string {
	var names []string
	for n := r.target; n != r.at; n = n.parent {
		if n.Edge != schema.Property {
			return ""
		}
		name := "." + n.Name
		if strings.ContainsAny(n.Name, ".[]'\\") || n.Name == "" {
			name = "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(n.Name) + "']"
		}
		names = append(names, name)
	}
	slices.Reverse(names)
	return strings.Join(names, "")
}

// message says what a client can do about a refused update.
func message(m immutability.Marker) string {
	switch m {
	case immutability.ImmutableKeys:
		return "the keys are immutable: add and remove none, or create a new object"
	case immutability.AdditionOnly:
		return "keys may be added but not removed: put the key back, or create a new object"
	case immutability.DeletionOnly:
		return "keys may be removed but not added: leave the key out, or create a new object"
	}
	return "is immutable: keep the old value, or create a new object"
}

// value returns the rule for x-kubernetes-validations.
func (r rule) value() map[string]any {
	out := map[string]any{"rule": r.expression + signature, "message": message(r.target.marker())}
	if path := r.fieldPath(); path != "" {
		out["fieldPath"] = path
	}
	return out
}
