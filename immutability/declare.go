package immutability

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// Rule is one line of a declaration.
type Rule struct {
	// Path says what the rule is about: names with dots between them, [*] for
	// every item of a list, * for every value of a map, ["a.b"] for a name that
	// holds a dot: spec.containers[*].image, spec.resources.requests.*
	Path string
	// Marker is what may not change there. A rule below an immutable one
	// replaces it for its part: Free frees it, another marker weakens it.
	Marker Marker
	// Keys make the list at Path one of type map, matched by these fields, and
	// Set makes it a set. Without either, a list is matched by index, and a
	// marker about keys means the keys of a map.
	Keys []string
	Set  bool
	// Canonical gives a scalar at Path in a form that is the same for all
	// spellings of one value: a quantity, a time. It returns what it does not
	// understand as it is, and must be safe for concurrent use. Only for
	// Immutable.
	Canonical func(value any) any
	// Exception lets some changes through, nil for none.
	Exception *Exception
}

// Declare makes a policy from rules, for objects whose schema carries no markers.
// Absent, null, {} and [] are one value in it, and so is an object that holds
// nothing else; the empty string, 0 and false are values of their own. Nil rules
// give a nil policy. The error names every rule that makes no sense; rules are
// code, so a test is the place to meet it.
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
	root.settle()
	wrong = append(wrong, idle(root, Free, "")...)
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return &Policy{root: root, comparison: value.NewComparison(value.BuiltIn)}, nil
}

// declare puts a rule at its place below the root.
func (n *node) declare(rule Rule) error {
	path, err := parseRulePath(rule.Path)
	if err != nil {
		return err
	}
	if err := rule.judge(); err != nil {
		return err
	}
	for _, step := range path.Steps() {
		n = n.descend(step)
	}
	if n.owns {
		return errors.New("there is another rule for this path")
	}
	n.owns = true
	n.marker = rule.Marker
	n.declared = path
	n.canonical = rule.Canonical
	n.exception = rule.Exception
	switch {
	case rule.Set:
		n.list = setList
	case len(rule.Keys) > 0:
		n.list, n.keys = mapList, rule.Keys
	case rule.Marker != Free && rule.Marker != Immutable:
		n.isMap = true
	}
	return nil
}

func (r Rule) judge() error {
	switch {
	case r.Marker > DeletionOnly:
		return errors.New("no such marker")
	case r.Set && len(r.Keys) > 0:
		return errors.New("a list is of type set or of type map, not both")
	case r.Canonical != nil && r.Marker != Immutable:
		return errors.New("only an immutable value is compared, so only it can have a canonical form")
	case r.Exception != nil && r.Marker == Free:
		return errors.New("what is free needs no exception")
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

// settle derives what a node says of its children.
func (n *node) settle() {
	n.live = n.marker != Free
	for below := range n.children {
		below.settle()
		n.live = n.live || below.live
		n.carved = n.carved || below.owns || below.carved
	}
	n.finish()
}

// children yields every node directly below, in one order.
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

// idle finds rules that cannot do what they say: one that frees what is not
// held, and one about the inside of an item of a set, which is matched as a
// whole. holder is the marker in force around n.
func idle(n *node, holder Marker, inSet string) (wrong []error) {
	if n.owns && inSet != "" {
		wrong = append(wrong, fmt.Errorf("rule %q: lies inside of the set %s", n.declared, inSet))
	}
	if n.owns && n.marker == Free && holder != Immutable {
		wrong = append(wrong, fmt.Errorf("rule %q: frees what no rule around it holds", n.declared))
	}
	if n.owns {
		holder = n.marker
	}
	if n.list == setList {
		inSet = n.declared.String()
	}
	for below := range n.children {
		wrong = append(wrong, idle(below, holder, inSet)...)
	}
	return wrong
}
