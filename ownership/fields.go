package ownership

import (
	"iter"

	"holdfast.dev/holdfast/value"
)

// isTexts reports whether a value of the node is a map of texts without null. The server
// stores such a map as it is.
func (n *node) isTexts(object map[string]any) bool {
	if n == nil || !n.texts {
		return false
	}
	for _, v := range object {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return true
}

// text returns the plan of one field of a map of texts.
func (p *plan) text(name string) *plan {
	canonical, _ := p.value.(map[string]any)
	return &plan{step: nameStep(name), node: p.node.elem, shown: p.texts[name], value: field(canonical, name), isLeaf: true}
}

// fields yields the plans of the fields inside of the value.
func (p *plan) fields() iter.Seq[*plan] {
	return func(yield func(*plan) bool) {
		for i := range p.below {
			if !yield(&p.below[i]) {
				return
			}
		}
		for name := range p.texts {
			if !yield(p.text(name)) {
				return
			}
		}
	}
}

// retained returns the plan of a field that the value does not have and that apply clears,
// because the value has the patch strategy retainKeys.
func (p *plan) retained(name string) *plan {
	return &plan{step: nameStep(name), node: p.node.child(name), value: value.Absent{}, isLeaf: true, isRetained: true}
}

// change is the plan of a field, and the values of the field before and after a write.
type change struct {
	*plan
	live, updated any
}

// changes yields the fields inside of the value that a write may have changed.
func (p *plan) changes(live, updated any) iter.Seq[change] {
	return func(yield func(change) bool) {
		find, findUpdated := p.finder(live), p.finder(updated)
		for i := range p.below {
			below := &p.below[i]
			if !yield(change{below, find(below), findUpdated(below)}) {
				return
			}
		}
		if p.texts == nil && !p.node.retains {
			return
		}
		oldObj, _ := live.(map[string]any)
		newObj, _ := updated.(map[string]any)
		for name := range p.texts {
			x, y := field(oldObj, name), field(newObj, name)
			if !isSameText(x, y) && !yield(change{p.text(name), x, y}) {
				return
			}
		}
		for name := range p.others(oldObj, newObj) {
			if !yield(change{p.retained(name), field(oldObj, name), field(newObj, name)}) {
				return
			}
		}
	}
}

// others yields the names of the fields that apply clears: one of the objects has them, and
// the value does not.
func (p *plan) others(oldObj, newObj map[string]any) iter.Seq[string] {
	return func(yield func(string) bool) {
		own, _ := p.shown.(map[string]any)
		if !p.node.retains {
			return
		}
		for name := range oldObj {
			if _, ok := own[name]; !ok && !yield(name) {
				return
			}
		}
		for name := range newObj {
			_, ok := own[name]
			if _, known := oldObj[name]; !ok && !known && !yield(name) {
				return
			}
		}
	}
}

// isSameText reports whether two values are the same text.
func isSameText(x, y any) bool {
	a, ok := x.(string)
	b, okB := y.(string)
	return ok && okB && a == b
}

// Retained returns the value that apply sets as a whole and that a field is a part of. The
// last-applied configuration has the value without the field, so that apply clears the field.
// ok is false if apply does not clear it.
func Retained(t *Type, obj map[string]any, path Path) (whole Path, ok bool) {
	text := lastApplied(obj)
	if text == "" {
		return Path{}, false
	}
	config := t.parse(text)
	if config.values == nil {
		return Path{}, false
	}
	p, steps := config.plan(), path.Steps()
	for i, step := range steps {
		switch step.Kind {
		case value.Name:
			p = p.child(step.Name)
		case value.Item:
			item, _ := step.Value.(map[string]any)
			p = p.item(item, 0)
		default:
			p = nil
		}
		if p == nil || p.isRetained {
			return newPath(steps[:i]), p != nil
		}
	}
	return Path{}, false
}
