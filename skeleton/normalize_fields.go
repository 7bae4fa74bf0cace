package skeleton

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// NormalizeFields drops from a set of fields, in place, every property with
// x-kubernetes-normalize: undefined that obj does not have, and reports whether it dropped any.
// The format of the set is that of PruneFields. obj is the normalized object. If every field
// is dropped, the map is empty afterwards.
func (sk *Skeleton) NormalizeFields(fields, obj map[string]any) (dropped bool) {
	return normalizeFields([]*node{sk.root}, fields, obj)
}

// normalizeFields normalizes the set of the value x, which has several nodes.
func normalizeFields(nodes []*node, fields map[string]any, x any) (dropped bool) {
	for step, below := range fields {
		kind, name, ok := strings.Cut(step, ":")
		if !ok {
			continue
		}
		next := normalizedNodes(nodes, kind, name)
		at, exists := fieldValue(x, kind, name)
		if kind == "f" && !exists && hasNormalizedNode(next) {
			delete(fields, step)
			dropped = true
			continue
		}
		owned, isSet := below.(map[string]any)
		if !isSet || len(next) == 0 || !normalizeFields(next, owned, at) {
			continue
		}
		dropped = true
		if _, self := owned["."]; self && len(owned) == 1 {
			// A set of only the value itself is written as {}.
			maps.DeleteFunc(owned, func(string, any) bool { return true })
		} else if len(owned) == 0 && !exists {
			delete(fields, step)
		}
	}
	return dropped
}

// normalizedNodes returns the nodes of a field or item that are normalized or have such nodes
// below.
func normalizedNodes(nodes []*node, kind, name string) []*node {
	var next []*node
	add := func(c *node) {
		if c.normalized || c.within&hasNormalized != 0 {
			next = append(next, c)
		}
	}
	for _, n := range nodes {
		if kind != "f" {
			if len(n.positions) == 0 { // items by position are not fields of their own
				add(n.item(0))
			}
			continue
		}
		if c, ok := n.properties[name]; ok {
			add(c)
			continue
		}
		for c := range n.undeclaredNodes(name) {
			add(c)
		}
	}
	return next
}

func hasNormalizedNode(nodes []*node) bool {
	for _, n := range nodes {
		if n.normalized {
			return true
		}
	}
	return false
}

// fieldValue returns the value of a field, or the item with the keys that name lists. Only
// such items have fields of their own.
func fieldValue(x any, kind, name string) (v any, exists bool) {
	switch x := x.(type) {
	case map[string]any:
		v, exists = x[name]
		return v, exists && kind == "f"
	case []any:
		var keys map[string]any
		if kind != "k" || json.Unmarshal([]byte(name), &keys) != nil {
			return nil, false
		}
		for _, item := range x {
			if hasKeys(item, keys) {
				return item, true
			}
		}
	}
	return nil, false
}

func hasKeys(item any, keys map[string]any) bool {
	object, ok := item.(map[string]any)
	for key, want := range keys {
		ok = ok && value.Strict.Equal(object[key], want)
	}
	return ok
}
