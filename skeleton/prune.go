package skeleton

import "slices"

// Prune drops from obj, in place and at every depth, each key that is not specified, and
// each null under a specified key that is not nullable and has no default. It reports
// whether a key was not specified. It allocates nothing if it drops nothing.
func (sk *Skeleton) Prune(obj map[string]any) (dropped bool) {
	var t recorder
	sk.prune(obj, &t)
	return t.hasDropped
}

// PrunePaths prunes as Prune does and returns the paths of the keys that were not
// specified, sorted: spec.template.foo, spec.ports[0].bar. Keys below a dropped key and
// dropped nulls are not listed.
func (sk *Skeleton) PrunePaths(obj map[string]any) []string {
	t := recorder{withPaths: true}
	sk.prune(obj, &t)
	slices.Sort(t.dropped)
	return t.dropped
}

func (sk *Skeleton) prune(obj map[string]any, t *recorder) {
	if !sk.root.verbatim {
		pruneObject(sk.root, obj, t)
		return
	}
	// Metadata is pruned even if the root is not.
	if metadata, ok := obj["metadata"]; ok {
		t.enter("metadata")
		pruneValue(objectMeta, metadata, t)
		t.leave()
	}
}

func pruneValue(n *node, x any, t *recorder) {
	switch x := x.(type) {
	case map[string]any:
		if !n.verbatim {
			pruneObject(n, x, t)
		}
	case []any:
		if !n.verbatim {
			pruneList(n, x, t)
		}
	}
}

func pruneObject(n *node, x map[string]any, t *recorder) {
	for key, value := range x {
		c, ok := n.properties[key]
		if !ok {
			var several bool
			if c, several = n.undeclared(key); several {
				pruneOverlap(n, key, x, t)
				continue
			}
		}
		if c == nil {
			if !n.preserve {
				t.drop(key)
				delete(x, key)
			}
			continue
		}
		switch value := value.(type) {
		case nil:
			if !c.keepNull {
				delete(x, key)
			}
		case map[string]any:
			if !c.verbatim {
				t.enter(key)
				pruneObject(c, value, t)
				t.leave()
			}
		case []any:
			if !c.verbatim {
				t.enter(key)
				pruneList(c, value, t)
				t.leave()
			}
		}
	}
}

func pruneList(n *node, x []any, t *recorder) {
	for i, item := range x {
		switch item.(type) {
		case map[string]any, []any:
			t.enterIndex(i)
			pruneValue(n.item(i), item, t)
			t.leave()
		}
	}
}
