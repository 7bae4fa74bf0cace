package immutability

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/value"
)

// Unseen is the difference between a stored object and the same object in one version of its
// kind, as far as markers of other versions protect it. A client that writes in the version
// cannot send the values that the version does not have. Restore adds them to what the
// client sent.
//
// An Unseen never changes. It holds references into both objects. The nil Unseen is no
// difference.
type Unseen struct {
	// values are the stored values of keys that the version does not show.
	values map[string]any
	// defaults are the values that the version shows and that are not stored.
	defaults map[string]any
	// below are the differences in the values that the version shows.
	below map[string]*Unseen
	// items are the differences in a list. All other fields are empty then.
	items *unseenItems
}

// unseenItems are the differences in the items of a list.
type unseenItems struct {
	// keys are the fields that identify an item, empty if an item has no identity.
	keys  []string
	shown []any
	// below has the difference of each item, nil for none.
	below []*Unseen
}

// FindUnseen returns what a version does not show of a stored object and one of the policies
// protects. The policies are those of the other versions. shown is the object in the version.
// It must have every item of a list that stored has, in the same order.
func FindUnseen(policies []*Policy, stored, shown map[string]any) *Unseen {
	var root place
	for _, p := range policies {
		if p == nil {
			continue
		}
		root.nodes = append(root.nodes, p.root)
		for _, l := range p.layers {
			if l.metadata == "" {
				root.nodes = append(root.nodes, l.root)
			}
		}
	}
	if len(root.nodes) == 0 {
		return nil
	}
	return root.object(withoutReserved(stored), withoutReserved(shown))
}

func withoutReserved(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	maps.DeleteFunc(out, func(key string, _ any) bool { return isReserved(key) })
	return out
}

// Restore returns a copy of obj, which a client sent in the version, with the unseen values.
// It does not restore what is in a field that the client removed. It restores an item of a list
// of type map if obj has an item with the same keys, and an item of another list if obj has an
// equal item at the same index. A default that is not stored is removed, unless the client
// changed it. The copy shares all values that do not change.
func (u *Unseen) Restore(obj map[string]any) map[string]any {
	if u == nil {
		return obj
	}
	out := maps.Clone(obj)
	if out == nil {
		out = map[string]any{}
	}
	for key, fallback := range u.defaults {
		if now, ok := out[key]; ok && value.Strict.Equal(now, fallback) {
			delete(out, key)
		}
	}
	for key, stored := range u.values {
		if now, ok := out[key]; ok {
			stored = withMissing(now, stored)
		}
		out[key] = stored
	}
	for key, below := range u.below {
		if now, ok := out[key]; ok {
			out[key] = below.restore(now)
		}
	}
	return out
}

// restore is Restore for any value. A value that has another type than the stored one does not
// change.
func (u *Unseen) restore(now any) any {
	switch now := now.(type) {
	case map[string]any:
		if u.items == nil {
			return u.Restore(now)
		}
	case []any:
		if u.items != nil {
			return u.items.restore(now)
		}
	}
	return now
}

func (u *unseenItems) restore(list []any) []any {
	out := slices.Clone(list)
	var pairs value.Pairs
	if len(u.keys) > 0 {
		pairs = value.NewComparison(value.Strict).PairKeys(u.keys, u.shown, list)
	}
	for i, below := range u.below {
		if below == nil {
			continue
		}
		partner := i
		if len(u.keys) > 0 {
			partner = pairs.Partner(i)
		} else if i >= len(list) || !value.Strict.Equal(u.shown[i], list[i]) {
			partner = -1
		}
		if partner >= 0 {
			out[partner] = below.restore(out[partner])
		}
	}
	return out
}

// withMissing returns a copy of now with the keys that only stored has, at every depth.
func withMissing(now, stored any) any {
	object, isObject := now.(map[string]any)
	from, both := stored.(map[string]any)
	if !isObject || !both {
		return now
	}
	out := maps.Clone(object)
	for key, v := range from {
		if inner, ok := out[key]; ok {
			v = withMissing(inner, v)
		}
		out[key] = v
	}
	return out
}
