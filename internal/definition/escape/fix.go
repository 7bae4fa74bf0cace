package escape

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/cel"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/value"
)

// Fix is a set of changes of a schema that closes all escapes of a field together. None of them can be left out.
type Fix []Step

// Step is one change of a schema.
type Step struct {
	Kind StepKind
	// Node is the node to change, nil for the root. For Require it is the property that becomes required.
	Node *value.Path
	// Marker is the whole marker of the node, for Mark.
	Marker immutability.Marker
	// Rule is the CEL rule to add, for AddRule.
	Rule string
}

// StepKind is what a step changes.
type StepKind uint8

const (
	// Require makes a property required.
	Require StepKind = iota
	// NotNullable removes nullable.
	NotNullable
	// SetType writes the type object.
	SetType
	// Mark writes a marker.
	Mark
	// AddRule adds a CEL rule.
	AddRule
)

// Fixes are the ways to close all escapes of the field of an escape. A way that does not exist is empty.
type Fixes struct {
	// Required makes the optional parents required. Keys and items get a marker, because they cannot be required.
	Required Fix
	// Marked adds markers. A parent gets NoUnset: it stays, and its other fields may change.
	Marked Fix
	// Rules adds CEL rules, which every Kubernetes server enforces.
	Rules Fix
}

// Fixes returns the ways to close all escapes of the field.
func (e Escape) Fixes() Fixes {
	if e.field == nil {
		return Fixes{}
	}
	return Fixes{
		Required: e.fix((*Escape).requiring), Marked: e.fix((*Escape).marking), Rules: e.fix((*Escape).ruling),
	}
}

// maxSteps limits the steps of a fix. A schema is hardly deeper.
const maxSteps = 64

// fix returns the smallest set of steps that closes all escapes of the field, if stepFor returns a step for each
// escape that is open. It returns nil if there is none.
func (e *Escape) fix(stepFor func(*Escape) (Step, bool)) Fix {
	var steps Fix
	for open := e.open(steps); len(open) > 0; open = e.open(steps) {
		before := len(steps)
		for i := range open {
			step, ok := stepFor(&open[i])
			if !ok || len(steps) == maxSteps {
				return nil
			}
			if !slices.ContainsFunc(steps, step.equal) {
				steps = append(steps, step)
			}
		}
		if len(steps) == before {
			return nil
		}
	}
	// A later step may close what an earlier one was for.
	for i := 0; i < len(steps); {
		if fewer := slices.Delete(slices.Clone(steps), i, i+1); len(e.open(fewer)) == 0 {
			steps = fewer
			continue
		}
		i++
	}
	return steps
}

func (s Step) equal(other Step) bool {
	return s.Kind == other.Kind && s.Node.Equal(other.Node) && s.Marker == other.Marker && s.Rule == other.Rule
}

// open returns the escapes of the field that the steps leave open, and those of the rules that the steps add.
func (e *Escape) open(steps Fix) []Escape {
	field := e.field.with(e.reader, steps)
	f := finder{reader: e.reader}
	// Below an immutable parent, only the escapes of the parent count.
	var frozen *frame
	for at := field.parent; at != nil && at.parent != nil; at = at.parent {
		if immutability.Effective(at.Schema) == immutability.Immutable {
			frozen = at
		}
	}
	marker := immutability.Effective(field.Schema)
	switch {
	case frozen != nil:
		f.promise(frozen, immutability.Immutable, "")
		return f.found
	case e.Rule == "":
		f.promise(field, e.Promise|marker, "")
	case field.parent != nil && marker.Covers(e.Promise):
		f.promise(field, marker, "")
	default:
		f.promise(field, e.Promise, e.Rule)
	}
	for at := field; at != nil; at = at.parent {
		for _, s := range steps {
			if s.Kind == AddRule && s.Node.Equal(at.path) && s.Marker != immutability.Free {
				f.promise(at, s.Marker, s.Rule)
			}
		}
	}
	return f.found
}

// with returns copies of the frames from the root to this one, with the steps.
func (at *frame) with(reader ruleReader, steps Fix) *frame {
	s := *at.Schema
	changed := &frame{Child: at.Child, path: at.path}
	changed.Schema = &s
	if at.parent != nil {
		changed.parent = at.parent.with(reader, steps)
	}
	for _, step := range steps {
		if !step.Node.Equal(at.path) {
			continue
		}
		switch step.Kind {
		case Require:
			holder := changed.parent.Schema
			holder.Required = append(slices.Clone(holder.Required), at.Name)
		case NotNullable:
			s.Nullable = false
		case SetType:
			s.Type = "object"
		case Mark:
			s.Immutable, s.ImmutableKeys, s.AdditionOnly, s.DeletionOnly = nil, nil, nil, nil
			s.Update = step.Marker.Constraints()
		case AddRule:
			s.Validations = append(slices.Clone(s.Validations), &schema.ValidationRule{Rule: step.Rule})
		}
	}
	changed.rules = reader.read(changed.Schema)
	return changed
}

// requiring returns the step that closes an escape without a marker, if there is one.
func (e *Escape) requiring() (Step, bool) {
	switch e.Hole {
	case OptionalField:
		// No object has a status when it is created.
		return Step{Kind: Require, Node: e.Parent}, immutability.Field(e.Parent) != "status"
	case NullableField:
		return Step{Kind: NotNullable, Node: e.Parent}, e.parent.Edge == schema.Property
	case UntypedField:
		return Step{Kind: SetType, Node: e.Parent}, true
	case MapKey, ListItem:
		return e.marking()
	}
	return Step{}, false
}

// marking returns the step that closes an escape with a marker.
func (e *Escape) marking() (Step, bool) {
	marker := immutability.NoUnset
	switch {
	case e.Hole == UntypedField:
		return e.requiring()
	case e.Hole > UntypedField || e.Parent.Equal(e.Field):
		marker = e.Close
	}
	return Step{Kind: Mark, Node: e.Parent, Marker: immutability.Effective(e.parent.Schema) | marker}, true
}

// ruling returns the step that closes an escape with a CEL rule. Rules do not distinguish null from a value, so
// nullable has to go.
func (e *Escape) ruling() (Step, bool) {
	at := e.parent
	switch e.Hole {
	case NullableField, UntypedField:
		return e.requiring()
	case OptionalField:
		name, ok := cel.Escape(at.Name)
		rule := fmt.Sprintf("!has(oldSelf.%s) || has(self.%s)", name, name)
		return Step{Kind: AddRule, Node: at.parent.path, Rule: rule}, ok && at.parent.hasOldValue() && at.parent.unbounded() <= 1
	case MapKey, ListItem:
		rule, marker, cost := at.keepItems()
		accepted := rule != "" && cost*at.repeated() <= maxCost && at.parent.unbounded() == 0
		return Step{Kind: AddRule, Node: at.path, Rule: rule, Marker: marker}, accepted && at.hasOldValue()
	}
	return Step{}, false
}

// unbounded counts the maps and lists without a limit, from this node to the root. Kubernetes estimates the cost of a rule from the limits,
// and refuses one that walks a map in such a node, or that is in two of them.
func (at *frame) unbounded() int {
	count := 0
	for ; at != nil; at = at.parent {
		s := at.Schema
		if isMap(s) && s.MaxProperties == nil || s.Type == "array" && s.MaxItems == nil {
			count++
		}
	}
	return count
}

// keepItems returns a rule that forbids removing keys or items, the marker that says the same, and the estimated cost of the rule. The
// rule is empty if there is none, or if it would compare each item of a list without a limit with each other.
func (at *frame) keepItems() (rule string, marker immutability.Marker, cost float64) {
	s := at.Schema
	items := limit(s.MaxItems)
	switch isList := s.Type == "array"; {
	case !immutability.HasKeys(s):
		return "self == oldSelf", immutability.Immutable, byteCost * bytesOf(s)
	case !isList:
		return "oldSelf.all(k, k in self)", immutability.AdditionOnly, stepCost * limit(s.MaxProperties)
	case s.MaxItems == nil:
		return "", immutability.Free, 0
	case s.ListType == "set":
		return "oldSelf.all(i, i in self)", immutability.AdditionOnly, items * (items + stepCost)
	}
	var pairs []string
	for _, key := range s.ListMapKeys {
		name, valid := cel.Escape(key)
		if !valid {
			return "", immutability.Free, 0
		}
		pairs = append(pairs, fmt.Sprintf("n.%s == o.%s", name, name))
		cost += items * items * (stepCost + byteCost*bytesOf(s.Items.Properties[key]))
	}
	return fmt.Sprintf("oldSelf.all(o, self.exists(n, %s))", strings.Join(pairs, " && ")), immutability.AdditionOnly, cost
}

// hasOldValue reports whether a rule on this node may use oldSelf: Kubernetes finds the old value of an item only in a
// list of type map.
func (at *frame) hasOldValue() bool {
	for ; at.parent != nil; at = at.parent {
		isItem := at.Edge != schema.Property && itemHole(at.Edge) == ListItem
		if isItem && at.parent.Schema.ListType != "map" {
			return false
		}
	}
	return true
}
