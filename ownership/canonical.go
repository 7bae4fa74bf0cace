package ownership

import (
	"encoding/json"
	"maps"
	"slices"
)

// sampleFrom is the number of entries from which a map of texts is sampled.
const sampleFrom = 64

// canonical returns the canonical form of a configuration, which is given decoded and as
// text, and its unknown fields.
//
// The canonical form of a map of texts is the map itself. Decoding a large one into a Go
// type and encoding it again is most of the cost of a judgement, so only one entry of
// it goes that way. If the entry comes back changed or in another place, as the stringData
// of a Secret does, the whole text goes that way.
func (t *Type) canonical(raw map[string]any, text string) (canonical map[string]any, unknown []string, err error) {
	if t.Canonical == nil {
		return raw, nil, nil
	}
	var large []sample
	if short := sampled(t.Applied.root, raw, nil, &large); len(large) > 0 {
		if canonical, unknown, ok := t.canonicalSample(short, large); ok {
			return canonical, unknown, nil
		}
	}
	return t.Canonical([]byte(text))
}

// canonicalSample returns the canonical form of a configuration whose large maps have been
// replaced by samples. ok is false if a sample has not kept its place and value.
func (t *Type) canonicalSample(short map[string]any, large []sample) (canonical map[string]any, unknown []string, ok bool) {
	text, err := json.Marshal(short)
	if err != nil {
		return nil, nil, false
	}
	if canonical, unknown, err = t.Canonical(text); err != nil {
		return nil, nil, false
	}
	for _, s := range large {
		if !s.restore(canonical) {
			return nil, nil, false
		}
	}
	return canonical, unknown, true
}

// sample is a large map of texts that was replaced by a map with one of its entries.
type sample struct {
	// path has the names of the fields on the way to the map.
	path  []string
	whole map[string]any
	key   string
}

// sampled returns a copy of an object in which each large map of texts has one entry. It
// adds the maps to large.
func sampled(n *node, object map[string]any, path []string, large *[]sample) map[string]any {
	out, copied := object, false
	for name, v := range object {
		inner, ok := v.(map[string]any)
		child := inside(n, name)
		if !ok || child == nil {
			continue
		}
		known, at := len(*large), slices.Concat(path, []string{name})
		switch {
		case len(inner) >= sampleFrom && child.isTexts(inner):
			inner = sampleOf(inner, at, large)
		case child.shape == record:
			inner = sampled(child, inner, at, large)
		}
		if len(*large) == known {
			continue
		}
		if !copied {
			out, copied = maps.Clone(object), true
		}
		out[name] = inner
	}
	return out
}

// sampleOf returns a map with one entry of a map of texts, which it adds to large.
func sampleOf(texts map[string]any, path []string, large *[]sample) map[string]any {
	for key, v := range texts {
		*large = append(*large, sample{path: path, whole: texts, key: key})
		return map[string]any{key: v}
	}
	return texts
}

// restore puts the whole map into the canonical form of the object. It returns false if the
// sample is not there.
func (s sample) restore(canonical map[string]any) bool {
	last := len(s.path) - 1
	for _, name := range s.path[:last] {
		canonical, _ = canonical[name].(map[string]any)
	}
	found, _ := canonical[s.path[last]].(map[string]any)
	if len(found) != 1 || !isSameText(found[s.key], s.whole[s.key]) {
		return false
	}
	canonical[s.path[last]] = s.whole
	return true
}
