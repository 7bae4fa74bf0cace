package skeleton

import "slices"

// Prune drops from obj, in place and at every depth, each key that is not
// specified, and each null under a specified key that is neither nullable nor
// has a default. It says whether a key was not specified, and allocates nothing
// when it drops nothing.
func (sk *Skeleton) Prune(obj map[string]any) (dropped bool) {
	var t trail
	sk.prune(obj, &t)
	return t.lossy
}

// PrunePaths does what Prune does and returns the paths of the keys that were
// not specified, sorted: spec.template.foo, spec.ports[0].bar. What lies below
// a dropped key is not listed, and neither are dropped nulls.
func (sk *Skeleton) PrunePaths(obj map[string]any) []string {
	t := trail{keeps: true}
	sk.prune(obj, &t)
	slices.Sort(t.dropped)
	return t.dropped
}

func (sk *Skeleton) prune(obj map[string]any, t *trail) {
	if !sk.root.verbatim {
		pruneObject(sk.root, obj, t)
		return
	}
	// Metadata stays Kubernetes' own under a root that is left alone.
	if metadata, ok := obj["metadata"]; ok {
		t.enter("metadata")
		pruneValue(objectMeta, metadata, t)
		t.leave()
	}
}

func pruneValue(n *node, x any, t *trail) {
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

func pruneObject(n *node, x map[string]any, t *trail) {
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

func pruneList(n *node, x []any, t *trail) {
	for i, item := range x {
		switch item.(type) {
		case map[string]any, []any:
			t.enterIndex(i)
			pruneValue(n.item(i), item, t)
			t.leave()
		}
	}
}
