package skeleton

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"holdfast.dev/holdfast/value"
)

// WrongType is a value of another basic type than the schema demands. It does not have
// the value itself, which may be secret.
type WrongType struct {
	Path string // spec.ports[0].port
	Want string // the type the schema names
	Got  string // the type of the value, null included
}

// Error returns the path and the types.
func (w WrongType) Error() string {
	return w.Path + ": must be of type " + w.Want + ", not " + w.Got
}

// Check returns every specified value of obj with another type than the one that
// binds there, sorted by path. A null under a key counts as absent. It allocates
// nothing if all types are right.
func (sk *Skeleton) Check(obj map[string]any) []WrongType {
	return sk.check(obj, value.Absent{})
}

// CheckUpdate is Check without the values that oldObj already has at the same path.
func (sk *Skeleton) CheckUpdate(oldObj, newObj map[string]any) []WrongType {
	return sk.check(newObj, oldObj)
}

// Nulls returns every null of obj that Prune drops: under a specified key that is not nullable and has no default.
func (sk *Skeleton) Nulls(obj map[string]any) []WrongType {
	if sk.root.verbatim {
		return nil
	}
	c := checker{nulls: true}
	c.value(sk.root, obj, value.Absent{})
	return c.wrong()
}

func (sk *Skeleton) check(obj map[string]any, old any) []WrongType {
	var c checker
	c.value(sk.root, obj, old)
	return c.wrong()
}

func (c *checker) wrong() []WrongType {
	if len(c.found) == 0 {
		return nil
	}
	wrong := make([]WrongType, len(c.found))
	for i, f := range c.found {
		slices.Reverse(f.steps)
		wrong[i] = WrongType{Path: pathText(f.steps), Want: f.want.String(), Got: f.got}
	}
	slices.SortFunc(wrong, func(a, b WrongType) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Want, b.Want))
	})
	// Two patterns that match one key may report the same value twice.
	return slices.Compact(wrong)
}

// checker collects values of the wrong type. It keeps no path on the way down:
// on the way up each level adds its step to what was found below it, so an
// object without errors pays nothing for paths.
type checker struct {
	found []finding
	// nulls means that it collects dropped nulls instead.
	nulls bool
}

type finding struct {
	steps []value.Step // innermost first
	want  kind
	got   string
}

func (c *checker) value(n *node, x, old any) {
	if !c.nulls && !n.binding.accepts(x) {
		c.report(n, x, old)
		return
	}
	if c.nulls && n.verbatim {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		c.object(n, x, old)
	case []any:
		c.list(n, x, old)
	}
}

func (c *checker) report(n *node, x, old any) {
	if value.Strict.Equal(x, old) {
		return
	}
	got := kindOf(x).String()
	switch {
	case x == nil:
		got = "null"
	case got == "":
		got = reflect.TypeOf(x).String()
	}
	c.found = append(c.found, finding{want: n.binding, got: got})
}

// at adds a step to all findings from the index before on.
func (c *checker) at(step value.Step, before int) {
	for i := before; i < len(c.found); i++ {
		c.found[i].steps = append(c.found[i].steps, step)
	}
}

func (c *checker) object(n *node, x map[string]any, old any) {
	oldObj, _ := old.(map[string]any)
	for key, v := range x {
		if v == nil {
			if c.nulls {
				c.null(n, key)
			}
			continue
		}
		oldValue := value.Strict.Field(oldObj, key)
		before := len(c.found)
		if child, ok := n.properties[key]; ok {
			c.value(child, v, oldValue)
		} else {
			// The value must have the type of each pattern that matches.
			for child := range n.undeclaredNodes(key) {
				c.value(child, v, oldValue)
			}
		}
		if len(c.found) > before {
			c.at(value.Step{Name: key}, before)
		}
	}
}

// null collects the null under a key if Prune drops it and the schema names a type for it.
func (c *checker) null(n *node, key string) {
	child, ok := n.properties[key]
	if !ok {
		child, _ = n.undeclared(key)
	}
	if child != nil && !child.keepNull && child.binding.String() != "" {
		c.found = append(c.found, finding{want: child.binding, got: "null", steps: []value.Step{{Name: key}}})
	}
}

func (c *checker) list(n *node, x []any, old any) {
	oldList, _ := old.([]any)
	for i, item := range x {
		child := n.item(i)
		if item == nil && child.nullFits {
			continue
		}
		var oldItem any = value.Absent{}
		if i < len(oldList) {
			oldItem = oldList[i]
		}
		before := len(c.found)
		c.value(child, item, oldItem)
		if len(c.found) > before {
			c.at(value.Step{Kind: value.Index, Index: i}, before)
		}
	}
}
