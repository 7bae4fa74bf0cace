package immutability

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// Rule is one rule given to Declare.
type Rule struct {
	// Path is the field of the rule: names with dots between them, [*] for every
	// item of a list, * for every value of a map, ["a.b"] for a name with a dot.
	// Examples: spec.containers[*].image, spec.resources.requests.*
	Path string
	// Marker says what may not change there. A rule below an immutable rule
	// replaces it for its own path: Free allows every change, another marker
	// allows some.
	Marker Marker
	// Keys are the fields by which the items of the list at Path are matched. Set
	// makes the list a set. Without either, items are matched by index, and a
	// marker about keys is about the keys of a map.
	Keys []string
	Set  bool
	// Canonical returns the form in which a scalar at Path is compared, the same
	// for all spellings of one value, such as a quantity or a time. If it cannot
	// parse a value, it returns the value unchanged. It must be safe for concurrent
	// use. Only rules with the marker Immutable may have it.
	Canonical func(scalar any) any
	// Exception allows some changes that the marker forbids, nil for none.
	Exception *Exception
}

// Declare makes a policy from rules, for kinds that have no markers in a schema. It
// compares values in the mode value.BuiltIn: absent, null, {} and [] are one
// value. Without rules it returns a nil policy. The error names every rule that is
// not valid. Rules are code, so callers test that theirs are valid.
func Declare(rules []Rule) (*Policy, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	root := &node{}
	var wrong []error
	for _, rule := range rules {
		if err := root.declare(rule); err != nil {
			wrong = append(wrong, fmt.Errorf("rule %q: %w", rule.Path, err))
		}
	}
	root.derive()
	wrong = append(wrong, ineffective(root, Free, "")...)
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return &Policy{root: root, comparison: value.NewComparison(value.BuiltIn)}, nil
}

// declare adds a rule to the tree below the root n.
func (n *node) declare(rule Rule) error {
	path, err := parseRulePath(rule.Path)
	if err != nil {
		return err
	}
	if err := rule.validate(); err != nil {
		return err
	}
	for _, step := range path.Steps() {
		n = n.descend(step)
	}
	if n.hasOwnRule {
		return errors.New("there is another rule for this path")
	}
	n.hasOwnRule = true
	n.marker = rule.Marker
	n.declared = path
	n.canonical = rule.Canonical
	n.exception = rule.Exception
	switch {
	case rule.Set:
		n.list = setList
	case len(rule.Keys) > 0:
		n.list, n.keys = mapList, rule.Keys
	case rule.Marker.has(ImmutableKeys):
		n.isMap = true
	}
	return nil
}

// validate returns an error if the fields of a rule contradict each other.
func (r Rule) validate() error {
	switch {
	case r.Set && len(r.Keys) > 0:
		return errors.New("a list is of type set or of type map, not both")
	case r.Canonical != nil && r.Marker != Immutable:
		return errors.New("only an immutable value is compared, so only it can have a canonical form")
	case r.Exception != nil && r.Marker == Free:
		return errors.New("a rule with the marker Free cannot have an exception")
	case r.Exception != nil && (r.Exception.Name == "" || r.Exception.Allows == nil):
		return errors.New("an exception needs a name and a function")
	}
	return nil
}

// parseRulePath reads the path of a rule.
func parseRulePath(text string) (*value.Path, error) {
	switch {
	case text == "":
		return nil, errors.New("the path is empty")
	case text[0] == '.':
		return nil, fmt.Errorf("at %q: want names with one dot between them", text)
	}
	path, err := value.ParsePattern(text)
	if err != nil {
		return nil, err
	}
	for _, step := range path.Steps() {
		switch step.Kind {
		case value.Name, value.AnyName, value.AnyItem:
		default:
			return nil, fmt.Errorf("at %q: want [*] or a quoted name", value.NewPath(step))
		}
	}
	return path, nil
}

// descend returns the node of a step, which it makes if there is none.
func (n *node) descend(step value.Step) *node {
	below := &n.rest
	switch step.Kind {
	case value.AnyItem:
		below = &n.items
	case value.Name:
		if n.props == nil {
			n.props = map[string]*node{}
		}
		if n.props[step.Name] == nil {
			n.props[step.Name] = &node{}
		}
		return n.props[step.Name]
	}
	if *below == nil {
		*below = &node{}
	}
	return *below
}

// derive sets the fields of n and of the nodes below it that depend on rules below
// them.
func (n *node) derive() {
	n.checked = n.marker != Free
	for below := range n.children {
		below.derive()
		n.checked = n.checked || below.checked
		n.hasRulesBelow = n.hasRulesBelow || below.hasOwnRule || below.hasRulesBelow
	}
	n.finish()
}

// children yields every node directly below, in a fixed order.
func (n *node) children(yield func(*node) bool) {
	for _, name := range slices.Sorted(maps.Keys(n.props)) {
		if !yield(n.props[name]) {
			return
		}
	}
	for _, below := range []*node{n.rest, n.items} {
		if below != nil && !yield(below) {
			return
		}
	}
}

// ineffective returns an error for each rule without an effect: a Free rule that
// is not below an immutable one, and a rule inside of an item of a set, because such
// an item is compared as a whole. above is the marker of the nearest rule above n.
// inSet is the path of the set that n is in, empty if there is none.
func ineffective(n *node, above Marker, inSet string) (wrong []error) {
	if n.hasOwnRule && inSet != "" {
		wrong = append(wrong, fmt.Errorf("rule %q: lies inside of the set %s", n.declared, inSet))
	}
	if n.hasOwnRule && n.marker == Free && above != Immutable {
		wrong = append(wrong, fmt.Errorf("rule %q: has no effect, no rule above it is immutable", n.declared))
	}
	if n.hasOwnRule {
		above = n.marker
	}
	if n.list == setList {
		inSet = n.declared.String()
	}
	for below := range n.children {
		wrong = append(wrong, ineffective(below, above, inSet)...)
	}
	return wrong
}
