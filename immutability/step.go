package immutability

import "holdfast.dev/holdfast/value"

// pendingStep is one step from the object to the current value. It becomes a step
// of a path when the first violation below it is found.
type pendingStep struct {
	kind  value.StepKind
	name  string
	index int
	list  []any    // of Item and Member: the list that has the item at index
	keys  []string // of Item
	path  *value.Path
}

func (w *walker) push(name string) { w.steps = append(w.steps, pendingStep{name: name}) }

func (w *walker) pushIndex(index int) {
	w.steps = append(w.steps, pendingStep{kind: value.Index, index: index})
}

// pushItem is push for an item of a list of type map.
func (w *walker) pushItem(keys []string, list []any, index int) {
	w.steps = append(w.steps, pendingStep{kind: value.Item, keys: keys, list: list, index: index})
}

// pushMember is push for an item of a set. A scalar is named by its value, an
// object or a list by its index.
func (w *walker) pushMember(list []any, index int) {
	switch list[index].(type) {
	case map[string]any, []any:
		w.pushIndex(index)
	default:
		w.steps = append(w.steps, pendingStep{kind: value.Member, list: list, index: index})
	}
}

func (w *walker) pop() { w.steps = w.steps[:len(w.steps)-1] }

// path returns the path of the current value.
func (w *walker) path() *value.Path {
	var parent *value.Path
	for i := range w.steps {
		t := &w.steps[i]
		if t.path == nil {
			t.path = parent.Append(w.step(t))
		}
		parent = t.path
	}
	return parent
}

func (w *walker) step(t *pendingStep) value.Step {
	s := value.Step{Kind: t.kind, Name: t.name, Index: t.index, Keys: t.keys}
	switch t.kind {
	case value.Item:
		s.Value = t.list[t.index]
		s.Index = w.occurrence(t.keys, t.list, t.index)
	case value.Member:
		s.Value = t.list[t.index]
	}
	return s
}

// occurrence returns how many items before the one at index have the same keys.
func (w *walker) occurrence(keys []string, list []any, index int) int {
	counts, known := w.counts[&list[0]]
	if !known {
		counts = w.policy.comparison.Occurrences(keys, list)
		if w.counts == nil {
			w.counts = map[*any][]int32{}
		}
		w.counts[&list[0]] = counts
	}
	return int(counts[index])
}
