package immutability

import "holdfast.dev/holdfast/value"

// Check finds every change from oldObj to newObj that the policy forbids, in the
// order of the schema: properties and keys by name, items by their place in the
// old list, then new ones by theirs. Both objects are as they are persisted, and
// neither is changed. The metadata is never looked at.
//
// A nil policy finds nothing.
func (p *Policy) Check(oldObj, newObj map[string]any) []Violation {
	if p == nil {
		return nil
	}
	w := walker{policy: p, oldObj: oldObj, newObj: newObj}
	w.steps = w.buffer[:0]
	w.check(p.root, oldObj, newObj)
	return w.found
}

// walker is one check under way.
type walker struct {
	policy         *Policy
	oldObj, newObj map[string]any
	found          []Violation

	// steps lead to where the walk is; buffer is room for as many as most
	// schemas have.
	steps  []trail
	buffer [8]trail

	// counts are the occurrences of keys in lists that hold a violation.
	counts map[*any][]int32
}

// report records a violation of rule where the walk is.
func (w *walker) report(rule *node, op Operation, oldValue, newValue any) {
	v := Violation{Path: w.path(), Operation: op, Marker: rule.marker, SchemaPath: rule.declared, rule: rule}
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

// check judges the value at n.
func (w *walker) check(n *node, oldValue, newValue any) {
	if n == nil || !n.live {
		return
	}
	from := len(w.found)
	switch n.marker {
	case Immutable:
		if !w.policy.equal(n, oldValue, newValue) {
			w.frozen(n, n, oldValue, newValue)
		}
	case Free:
		w.contents(n, oldValue, newValue)
	default:
		w.keyed(n, oldValue, newValue)
	}
	if n.exception != nil && len(w.found) > from {
		w.except(n, from, Change{w.oldObj, w.newObj, present(oldValue), present(newValue)})
	}
}

// contents judges what lies inside of a value that has no marker itself. Where
// one side is absent or of another type there is nothing to judge: a parent may
// be set or removed as a whole.
func (w *walker) contents(n *node, oldValue, newValue any) {
	if w.policy.isLoose() {
		oldValue, newValue = leveled(oldValue, newValue)
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

// keyed judges a value whose keys are marked. Absent, null and a value that has
// no keys count as the empty set of keys.
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

// except drops what n itself forbids, from the violation at from on, if the
// exception allows the change. Rules below n stand on their own.
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

// leveled makes an absent object one without keys beside one that has some.
func leveled(a, b any) (any, any) {
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
