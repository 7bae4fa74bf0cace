package immutability

import "holdfast.dev/holdfast/value"

// Check returns every change from oldObj to newObj that the policy forbids. They
// are ordered by the schema: properties and keys by name, items by their index
// in the old list, then added items by their index in the new list. Those of marks
// with a condition follow, in the order of the marks: Check does not know whether a
// condition holds. Both objects are as the server stores them. Check changes neither.
// Only marks about labels and annotations read metadata. A nil policy forbids nothing.
func (p *Policy) Check(oldObj, newObj map[string]any) []Violation {
	if p == nil {
		return nil
	}
	found := p.check(oldObj, newObj)
	for _, l := range p.layers {
		found = append(found, l.check(oldObj, newObj)...)
	}
	return found
}

// CheckMetadata is Check for the rules about labels and annotations only. It is for an update that changes nothing else.
func (p *Policy) CheckMetadata(oldObj, newObj map[string]any) []Violation {
	if p == nil {
		return nil
	}
	var found []Violation
	for _, l := range p.layers {
		if l.metadata != "" {
			found = append(found, l.check(oldObj, newObj)...)
		}
	}
	return found
}

// check is Check without the layers.
func (p *Policy) check(oldObj, newObj map[string]any) []Violation {
	w := walker{policy: p, oldObj: oldObj, newObj: newObj}
	w.steps = w.buffer[:0]
	w.check(p.root, oldObj, newObj)
	return w.found
}

// walker is one run of Check.
type walker struct {
	policy         *Policy
	oldObj, newObj map[string]any
	found          []Violation

	// steps lead from the object to the current value. buffer is the first memory
	// of steps, enough for most schemas.
	steps  []pendingStep
	buffer [8]pendingStep

	// counts has, for each item of a list with a violation, how many items before
	// it have the same keys. The map key is the address of the first item of the
	// list.
	counts map[*any][]int32
}

// report records a violation of rule at the current value.
func (w *walker) report(rule *node, op Operation, oldValue, newValue any) {
	v := Violation{Path: w.path(), Operation: op, Marker: rule.marker, SchemaPath: rule.declared, Mark: w.policy.mark, rule: rule}
	if op != Added {
		v.Old = oldValue
	}
	if op != Removed {
		v.New = newValue
	}
	if rule.exception != nil {
		v.Exception = rule.exception.Name
	}
	w.found = append(w.found, v)
}

// check finds the violations at and below n.
func (w *walker) check(n *node, oldValue, newValue any) {
	if n == nil || !n.checked {
		return
	}
	from := len(w.found)
	switch n.marker {
	case Immutable:
		if !w.policy.equal(n, oldValue, newValue) {
			w.reportDifferences(n, n, oldValue, newValue)
		}
	case Free:
		w.contents(n, oldValue, newValue)
	default:
		w.constrained(n, oldValue, newValue)
	}
	if n.exception != nil && len(w.found) > from {
		w.except(n, from, Change{w.oldObj, w.newObj, present(oldValue), present(newValue)})
	}
}

// constrained checks a value with a marker that forbids some changes only.
func (w *walker) constrained(n *node, oldValue, newValue any) {
	switch was, is := w.policy.isSet(n, oldValue), w.policy.isSet(n, newValue); {
	case !was && is && n.marker.has(NoSet):
		w.report(n, Added, nil, newValue)
	case was && !is && n.marker.has(NoUnset):
		w.report(n, Removed, oldValue, nil)
	case was && is && n.marker.has(NoModify):
		if !w.policy.equal(n, oldValue, newValue) {
			w.reportDifferences(n, n, oldValue, newValue)
		}
	case n.marker.has(ImmutableKeys):
		w.keyed(n, oldValue, newValue)
	default:
		w.contents(n, oldValue, newValue)
	}
}

// isSet reports whether a value at n counts as set for every marker but Immutable. An object with named fields is set when it
// is empty, a map is not.
func (p *Policy) isSet(n *node, v any) bool {
	switch v := v.(type) {
	case value.Absent, nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0 || !n.isMap && !p.isLoose()
	}
	return n.zero == nil || !value.Strict.Equal(n.zero, v)
}

// contents checks the values inside of a value that has no marker itself. If one
// side is absent or has another type, no rule applies: an update may set or
// remove a parent as a whole.
func (w *walker) contents(n *node, oldValue, newValue any) {
	if w.policy.isLoose() {
		oldValue, newValue = alignEmpty(oldValue, newValue)
	}
	switch oldValue := oldValue.(type) {
	case map[string]any:
		if newValue, ok := newValue.(map[string]any); ok && !value.SameObject(oldValue, newValue) {
			w.object(n, oldValue, newValue)
		}
	case []any:
		if newValue, ok := newValue.([]any); ok && !value.SameList(oldValue, newValue) {
			w.items(n, oldValue, newValue)
		}
	}
}

// keyed checks a value with a marker about keys. An absent value, null and a value
// of another type have no keys.
func (w *walker) keyed(n *node, oldValue, newValue any) {
	oldMap, _ := oldValue.(map[string]any)
	newMap, _ := newValue.(map[string]any)
	oldList, _ := oldValue.([]any)
	newList, _ := newValue.([]any)
	if n.isMap && !value.SameObject(oldMap, newMap) {
		w.object(n, oldMap, newMap)
	}
	if n.list != atomicList && !value.SameList(oldList, newList) {
		w.items(n, oldList, newList)
	}
}

// except removes the violations of the rule of n from w.found[from:] if the exception
// of the rule allows the change. It keeps the violations of rules below n.
func (w *walker) except(n *node, from int, change Change) {
	kept := w.found[:from]
	asked, allowed := false, false
	for _, v := range w.found[from:] {
		if v.rule == n {
			if !asked {
				asked, allowed = true, n.exception.Allows(change)
			}
			if allowed {
				continue
			}
		}
		kept = append(kept, v)
	}
	w.found = kept
}

// alignEmpty returns a nil object in place of an absent value if the other value
// is an object, so that the two can be compared key by key.
func alignEmpty(a, b any) (any, any) {
	a, b = value.BuiltIn.Reduce(a), value.BuiltIn.Reduce(b)
	if _, isObject := a.(map[string]any); isObject && b == (value.Absent{}) {
		return a, map[string]any(nil)
	}
	if _, isObject := b.(map[string]any); isObject && a == (value.Absent{}) {
		return map[string]any(nil), b
	}
	return a, b
}

func present(v any) any {
	if _, isAbsent := v.(value.Absent); isAbsent {
		return nil
	}
	return v
}
