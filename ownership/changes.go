package ownership

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/value"
)

// Changed returns the topmost judged fields that differ between two objects in the
// view of client-side apply, at most limit of them.
func (t *Type) Changed(live, updated map[string]any, limit int) []Path {
	c := changeWalk{mode: t.mode(), limit: limit}
	c.compare(t.Applied.root, judgedPart(live), judgedPart(updated))
	slices.SortFunc(c.paths, func(a, b Path) int { return strings.Compare(a.String(), b.String()) })
	return c.paths
}

// changeWalk collects the fields that differ.
type changeWalk struct {
	mode  value.Mode
	path  []value.Step
	paths []Path
	limit int
}

func (c *changeWalk) compare(n *node, live, updated any) {
	if len(c.paths) >= c.limit {
		return
	}
	if noLive, noUpdated := c.mode.IsAbsent(live), c.mode.IsAbsent(updated); noLive || noUpdated {
		if noLive != noUpdated {
			c.report()
		}
		return
	}
	switch n.shape {
	case record, mapping:
		oldObj, ok := live.(map[string]any)
		newObj, okNew := updated.(map[string]any)
		if ok && okNew {
			c.compareObjects(n, oldObj, newObj)
			return
		}
	case keyed:
		_, ok := live.([]any)
		if _, okNew := updated.([]any); ok && okNew {
			c.compareItems(n, live, updated)
			return
		}
	}
	if !c.mode.Equal(live, updated) {
		c.report()
	}
}

func (c *changeWalk) compareObjects(n *node, oldObj, newObj map[string]any) {
	for name, v := range oldObj {
		c.step(nameStep(name), n.child(name), v, field(newObj, name))
	}
	for name, v := range newObj {
		if _, ok := oldObj[name]; !ok {
			c.step(nameStep(name), n.child(name), value.Absent{}, v)
		}
	}
}

func (c *changeWalk) compareItems(n *node, live, updated any) {
	oldItems, newItems := newItems(live, n.keys), newItems(updated, n.keys)
	oldItems.each(func(item map[string]any, earlier int) {
		c.step(itemStep(n.keys, item), n.elem, item, newItems.find(item, earlier))
	})
	newItems.each(func(item map[string]any, earlier int) {
		if isAbsent(oldItems.find(item, earlier)) {
			c.step(itemStep(n.keys, item), n.elem, value.Absent{}, item)
		}
	})
}

func (c *changeWalk) step(step value.Step, n *node, live, updated any) {
	c.path = append(c.path, step)
	c.compare(n, live, updated)
	c.path = c.path[:len(c.path)-1]
}

func (c *changeWalk) report() { c.paths = append(c.paths, newPath(c.path)) }

// sortFindings sorts findings by their paths.
func sortFindings(findings []Finding) {
	if len(findings) < 2 {
		return
	}
	type named struct {
		text string
		Finding
	}
	sorted := make([]named, len(findings))
	for i, f := range findings {
		sorted[i] = named{f.Path.String(), f}
	}
	slices.SortStableFunc(sorted, func(a, b named) int { return strings.Compare(a.text, b.text) })
	for i := range sorted {
		findings[i] = sorted[i].Finding
	}
}
