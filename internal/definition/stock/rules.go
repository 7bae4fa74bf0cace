package stock

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// rule is a CEL rule for a marker.
type rule struct {
	// at is the node that has the rule. It is the root for a policy.
	at         *node
	target     target
	expression string
	// estimated is the expression whose cost is estimated. It differs from expression only if
	// expression has optional values, which the estimator takes for infinitely expensive. Both have
	// the same result.
	estimated string
}

// signature ends the rules that this package writes, as a comment. Compile removes such rules
// from a definition before it writes new ones.
const signature = " // holdfast schema compile"

// schemaRules adds the transition rules of a version. The condition of a rule is about the whole object,
// so the rule stands at the root.
func (c *compilation) schemaRules(v *version) {
	for _, t := range targets(v.root, c.marksIn(v)) {
		if t.mark != nil && t.mark.Unless != "" {
			continue // refuseMarks refuses it
		}
		given := c.condition(t.mark, v.root)
		w := &writer{target: t.Schema, marker: t.marker, typed: true, closed: c.options.CloseEscapes}
		at := attachment(t.node, c.options)
		if given.holds != "" {
			at = v.root
		}
		self := operands{"self", "oldSelf"}
		expression := ""
		if at == t.node {
			expression = w.check(at, self)
		} else {
			expression = w.contents(at, self)
		}
		c.add(v, rule{at: at, target: t, expression: expression, estimated: expression}, given, w.refusals)
		c.noteTypes(t)
	}
}

// add adds a rule to its version, with its condition. It records the refusals instead if there are any.
func (c *compilation) add(v *version, r rule, given condition, refusals []Refusal) {
	for _, reason := range given.refusals {
		c.refuse(annotationPath, "", "%s: %s", r.target.mark, reason)
	}
	for i := range refusals {
		if r.target.mark != nil {
			refusals[i].Message = r.target.mark.String() + ": " + refusals[i].Message
		}
	}
	c.refuseAt(v.index, refusals)
	if r.expression == "true" || len(refusals)+len(given.refusals) > 0 {
		return
	}
	r.expression, r.estimated = given.apply(r.expression), given.apply(r.estimated)
	v.rules = append(v.rules, r)
	c.result.Rules++
	for _, text := range given.notes {
		c.note(r.target, "%s", text)
	}
}

// noteTypes notes where CEL compares the values of a target in another way than the server.
func (c *compilation) noteTypes(t target) {
	if t.marker&immutability.NoModify == 0 {
		return
	}
	said := map[string]bool{}
	t.find(func(n *node) bool {
		text := ""
		switch s := n.Schema; {
		case s.Nullable && n.Edge == schema.Property && (n != t.node || t.marker == immutability.Immutable):
			text = "in a CEL rule, null counts as absent"
		case s.Type == "number":
			text = "a CEL rule compares numbers as floating-point numbers"
		case s.Type == "string" && (s.Format == "byte" || hasKnownSize(s)):
			text = "a CEL rule compares the values of times, durations and bytes, not their texts"
		}
		if text != "" && !said[text] {
			said[text] = true
			c.note(t, "%s", text)
		}
		return false
	})
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
	for n := r.target.node; n.Schema != r.at.Schema; n = n.parent {
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

// message says what is forbidden, in the words of the server, and what a client can do about a refused
// update. Clients look for the words "field is immutable".
func (t target) message() string {
	v := immutability.Violation{Marker: t.marker, Mark: t.mark}
	text := strings.TrimSuffix(v.Rule(), ": "+v.Operation.String()) + ": " + t.advice()
	if t.mark != nil && t.mark.Unless != "" {
		text += " (a user that may " + t.mark.Unless + " it can change it)"
	}
	return text
}

// advice says what a client can do.
func (t target) advice() string {
	switch t.marker {
	case immutability.Immutable, immutability.SetOnce, immutability.NoModify:
		return "keep the old value, or create a new object"
	case immutability.NoSet:
		return "leave it out, or create a new object"
	case immutability.NoUnset:
		return "put it back, or create a new object"
	case immutability.ImmutableKeys:
		return "add and remove no keys, or create a new object"
	case immutability.AdditionOnly:
		return "put the key back, or create a new object"
	case immutability.DeletionOnly:
		return "leave the key out, or create a new object"
	}
	return "undo the change, or create a new object"
}

// field returns the field of objects that the rule is about.
func (t target) field() string {
	if t.mark != nil {
		return t.mark.Path.String()
	}
	return immutability.Field(t.path)
}

// String returns the rule as the annotation has it.
func (t target) String() string {
	if t.mark != nil {
		return t.mark.String()
	}
	return t.marker.Word() + " " + t.field()
}

// value returns the rule for x-kubernetes-validations.
func (r rule) value() map[string]any {
	out := map[string]any{"rule": r.expression + signature, "message": r.target.message()}
	if path := r.fieldPath(); path != "" {
		out["fieldPath"] = path
	}
	return out
}
