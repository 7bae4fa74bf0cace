package immutability

// trail is one step of the way to where a check is. It becomes a Path when a
// violation is found below it, once.
type trail struct {
	kind  stepKind
	name  string
	index int
	list  []any    // of keyedStep and valueStep: what the item at index is in
	keys  []string // of keyedStep
	path  *Path
}

func (w *walker) push(name string) { w.steps = append(w.steps, trail{name: name}) }

func (w *walker) pushIndex(index int) {
	w.steps = append(w.steps, trail{kind: indexStep, index: index})
}

// pushItem is push for an item of a list of type map.
func (w *walker) pushItem(keys []string, list []any, index int) {
	w.steps = append(w.steps, trail{kind: keyedStep, keys: keys, list: list, index: index})
}

// pushMember is push for an item of a set: a scalar is known by its value,
// anything larger by its index.
func (w *walker) pushMember(list []any, index int) {
	switch list[index].(type) {
	case map[string]any, []any:
		w.pushIndex(index)
	default:
		w.steps = append(w.steps, trail{kind: valueStep, list: list, index: index})
	}
}

func (w *walker) pop() { w.steps = w.steps[:len(w.steps)-1] }

// path is where the walk is.
func (w *walker) path() *Path {
	var parent *Path
	for i := range w.steps {
		t := &w.steps[i]
		if t.path == nil {
			t.path = &Path{parent: parent, step: w.step(t)}
		}
		parent = t.path
	}
	return parent
}

func (w *walker) step(t *trail) step {
	s := step{kind: t.kind, name: t.name, index: t.index, keys: t.keys}
	switch t.kind {
	case keyedStep:
		s.item = t.list[t.index]
		s.index = w.occurrence(t.keys, t.list, t.index)
	case valueStep:
		s.item = t.list[t.index]
	}
	return s
}

// occurrence is how many items before the one at index have the same keys.
func (w *walker) occurrence(keys []string, list []any, index int) int {
	counts, known := w.counts[&list[0]]
	if !known {
		counts = w.policy.occurrences(keys, list)
		if w.counts == nil {
			w.counts = map[*any][]int32{}
		}
		w.counts[&list[0]] = counts
	}
	return int(counts[index])
}

// occurrences counts, for each item, how many before it have the same keys.
func (p *Policy) occurrences(keys []string, list []any) []int32 {
	by := byKeys{p, keys}
	counts := make([]int32, len(list))
	last := make(map[uint64][]int32, len(list))
	for i, item := range list {
		h := by.hash(item)
		known := false
		for k, j := range last[h] {
			if by.same(list[j], item) {
				counts[i] = counts[j] + 1
				last[h][k] = int32(i)
				known = true
				break
			}
		}
		if !known {
			last[h] = append(last[h], int32(i))
		}
	}
	return counts
}
