package skeleton

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// WrongType is a value that does not have the basic type its place demands. It
// names types only, never the value.
type WrongType struct {
	Path string // spec.ports[0].port
	Want string // the type the schema names
	Got  string // the type of the value, null included
}

// Error is what a person reads.
func (w WrongType) Error() string {
	return w.Path + ": must be of type " + w.Want + ", not " + w.Got
}

// Check returns every value of obj whose basic type is not the one that binds
// at its place, sorted by path. A null under a key counts as absent. It looks
// at specified values only and allocates nothing when all is well.
func (sk *Skeleton) Check(obj map[string]any) []WrongType {
	return sk.check(obj, absent)
}

// CheckUpdate is Check without what was wrong in oldObj already: a value that
// stands unchanged at the same path is not reported.
func (sk *Skeleton) CheckUpdate(oldObj, newObj map[string]any) []WrongType {
	return sk.check(newObj, oldObj)
}

func (sk *Skeleton) check(obj map[string]any, old any) []WrongType {
	var c checker
	c.value(sk.root, obj, old, nil)
	slices.SortFunc(c.wrong, func(a, b WrongType) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Want, b.Want))
	})
	// Overlapping patterns may say the same twice.
	return slices.Compact(c.wrong)
}

// nowhere is the type of absent, the old value of what was not there.
type nowhere struct{}

var absent any = nowhere{}

type checker struct{ wrong []WrongType }

// spot is where a walk is. The spots of a walk lie on the stack and are read
// only when something is wrong.
type spot struct {
	up      *spot
	key     string
	index   int
	isIndex bool
}

func (s *spot) String() string {
	var t trail
	for ; s != nil; s = s.up {
		t.steps = append(t.steps, trailStep{s.key, s.index, s.isIndex})
	}
	slices.Reverse(t.steps)
	return t.String()
}

func (c *checker) value(n *node, x, old any, at *spot) {
	if !n.binding.accepts(x) {
		c.report(n, x, old, at)
		return
	}
	switch x := x.(type) {
	case map[string]any:
		c.object(n, x, old, at)
	case []any:
		c.list(n, x, old, at)
	}
}

func (c *checker) report(n *node, x, old any, at *spot) {
	if old != absent && reflect.DeepEqual(x, old) {
		return
	}
	got := kindOf(x).String()
	switch {
	case x == nil:
		got = "null"
	case got == "":
		got = reflect.TypeOf(x).String()
	}
	c.wrong = append(c.wrong, WrongType{Path: at.String(), Want: n.binding.String(), Got: got})
}

func (c *checker) object(n *node, x map[string]any, old any, at *spot) {
	oldObj, _ := old.(map[string]any)
	for key, value := range x {
		if value == nil {
			continue
		}
		before := absent
		if v, ok := oldObj[key]; ok {
			before = v
		}
		here := spot{up: at, key: key}
		child, ok := n.properties[key]
		if ok {
			c.value(child, value, before, &here)
			continue
		}
		child, several := n.undeclared(key)
		if several {
			// Each pattern that matches must hold.
			for _, p := range n.patterns {
				if p.covers(key) {
					c.value(p.value, value, before, &here)
				}
			}
		} else if child != nil {
			c.value(child, value, before, &here)
		}
	}
}

func (c *checker) list(n *node, x []any, old any, at *spot) {
	oldList, _ := old.([]any)
	for i, item := range x {
		child := n.item(i)
		if item == nil && child.nullFits {
			continue
		}
		before := absent
		if i < len(oldList) {
			before = oldList[i]
		}
		here := spot{up: at, index: i, isIndex: true}
		c.value(child, item, before, &here)
	}
}
