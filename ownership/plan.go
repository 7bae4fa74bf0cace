package ownership

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/value"
)

// plan is a configuration prepared for comparisons: a tree of fields with their
// nodes, sorted. It is made once and used for every write.
type plan struct {
	step value.Step
	node *node
	// shown is the value in messages: the one that was written, null for a field whose
	// absence is owned.
	shown any
	// value is the value as the server would store it, value.Absent if it would
	// leave it out.
	value any
	// earlier is the number of earlier items with the same keys, and isRepeated means that there
	// are earlier or later ones.
	earlier    int
	isRepeated bool
	// isLeaf means that apply takes the value as one field. Otherwise below has the
	// fields inside of it.
	isLeaf bool
	below  []plan
	// texts are the fields inside of a map of texts, which has no below: each field is a leaf.
	// A plan for each key would cost more than the judgement of most writes.
	texts map[string]any
	// isRetained marks a field that the configuration does not have. Apply clears it, because
	// the value around it has the patch strategy retainKeys.
	isRetained bool
	// items finds the items of a list among below, by index. It is nil for other values.
	items *items
}

// newPlan returns the plan of a value. canonical is its canonical form.
func newPlan(n *node, step value.Step, shown, canonical any) plan {
	p := plan{step: step, node: n, shown: shown, value: canonical}
	object, isObject := shown.(map[string]any)
	list, isList := shown.([]any)
	switch {
	case isObject && n.isTexts(object):
		p.texts = object
	case isObject && (n.shape == record || n.shape == mapping):
		p.addFields(object)
	case isList && n.shape == keyed:
		p.addItems(list)
	case isList && n.shape == set:
		for _, member := range list {
			if member != nil {
				p.below = append(p.below, plan{step: memberStep(member), node: &node{}, shown: member, value: member, isLeaf: true})
			}
		}
	default:
		p.isLeaf = true
		if shown == nil {
			p.value = value.Absent{}
		}
	}
	return p
}

func (p *plan) addFields(object map[string]any) {
	canonical, _ := p.value.(map[string]any)
	p.below = make([]plan, 0, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		p.below = append(p.below, newPlan(p.node.child(name), nameStep(name), object[name], field(canonical, name)))
	}
}

func (p *plan) addItems(list []any) {
	canonical, _ := p.value.([]any)
	items := newItems(list, p.node.keys)
	var objects []any
	for i, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		form := item
		if len(canonical) == len(list) {
			form = canonical[i]
		}
		below := newPlan(p.node.elem, itemStep(p.node.keys, object), object, form)
		below.earlier = items.earlier(i)
		p.below, objects = append(p.below, below), append(objects, item)
	}
	found := newItems(objects, p.node.keys)
	p.items = &found
	for i := range p.below {
		if below := &p.below[i]; below.earlier == 1 {
			for one := range p.group(below.keyed()) {
				one.isRepeated = true
			}
		}
	}
}

// child returns the plan of a field, nil if there is none. The nil plan has none.
func (p *plan) child(name string) *plan {
	if p == nil || p.isLeaf {
		return nil
	}
	if _, ok := p.texts[name]; ok {
		return p.text(name)
	}
	i, ok := slices.BinarySearchFunc(p.below, name, func(below plan, name string) int {
		return strings.Compare(below.step.Name, name)
	})
	switch {
	case ok:
		return &p.below[i]
	case p.node.retains:
		return p.retained(name)
	}
	return nil
}

// item returns the plan of the item with the same keys as another, after a number of
// earlier items with these keys; nil if there is none. The nil plan has none.
func (p *plan) item(like map[string]any, earlier int) *plan {
	if p == nil || p.items == nil {
		return nil
	}
	if at := p.items.at(like, earlier); at >= 0 {
		return &p.below[at]
	}
	return nil
}

// group yields the plans of all items with the same keys as another.
func (p *plan) group(like map[string]any) iter.Seq[*plan] {
	return func(yield func(*plan) bool) {
		for earlier := 0; ; earlier++ {
			if one := p.item(like, earlier); one == nil || !yield(one) {
				return
			}
		}
	}
}

// keyed returns an item of a list, with its keys.
func (p *plan) keyed() map[string]any {
	item, _ := p.shown.(map[string]any)
	return item
}

// member returns the plan of a member of a set, nil if there is none. The nil plan has
// none.
func (p *plan) member(member any) *plan {
	if p == nil || p.isLeaf {
		return nil
	}
	for i := range p.below {
		if equal(p.below[i].value, member) {
			return &p.below[i]
		}
	}
	return nil
}

// isRestoredIn reports whether a value has a field of the plan that the server
// stores. It is for a value that was absent before. The nil plan has no fields.
func (p *plan) isRestoredIn(v any, mode value.Mode) bool {
	switch {
	case p == nil || mode.IsAbsent(v):
		return false
	case p.isLeaf:
		return !mode.IsAbsent(p.value)
	case p.ownsPresence():
		return true
	}
	find := p.finder(v)
	for below := range p.fields() {
		if below.isRestoredIn(find(below), mode) {
			return true
		}
	}
	return false
}

// ownsPresence reports whether the plan owns that the value is there, but no field in
// it that the server stores. An empty map of a built-in kind or an empty list that
// merges does not: it owns no member, and the server does not store it.
func (p *plan) ownsPresence() bool {
	return !p.isLeaf && p.node.presence && !isAbsent(p.value) && !p.storesField()
}

// isStored reports whether the server stores a field of the plan.
func (p *plan) isStored() bool {
	if p.isLeaf {
		return !isAbsent(p.value)
	}
	return p.storesField() || p.node.presence && !isAbsent(p.value)
}

// storesField reports whether the server stores a field inside of the value.
func (p *plan) storesField() bool {
	for below := range p.fields() {
		if below.isStored() {
			return true
		}
	}
	return false
}

// applied returns the value of the plan in messages.
func (p *plan) applied() any {
	if p.shown == nil {
		return value.Absent{}
	}
	return p.shown
}

// isNull reports whether the configuration owns the absence of the field.
func (p *plan) isNull() bool { return p.isLeaf && p.shown == nil }

// isWrittenIn reports whether a value has every value of the plan. The value may have
// defaults inside of fields.
func (p *plan) isWrittenIn(v any) bool {
	if p.isLeaf {
		return isAbsent(p.value) || contains(v, p.value)
	}
	find := p.finder(v)
	for below := range p.fields() {
		if !below.isWrittenIn(find(below)) {
			return false
		}
	}
	return true
}

// finder returns a function that finds the value of a field of the plan in v, which
// is the whole value. If v has another type, or is absent, it has none of the fields.
func (p *plan) finder(v any) func(below *plan) any {
	switch p.node.shape {
	case keyed:
		list := newItems(v, p.node.keys)
		return func(below *plan) any {
			return list.find(below.keyed(), below.earlier)
		}
	case set:
		list := newMembership(v)
		return func(below *plan) any { return list.find(below.value) }
	}
	object, _ := v.(map[string]any)
	return func(below *plan) any { return field(object, below.step.Name) }
}
