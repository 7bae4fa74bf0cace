package skeleton

import (
	"maps"
	"strings"
)

// PruneFields drops from a set of fields, in place, every field that is not
// specified, and reports whether it dropped any. The set has the format of fieldsV1
// in managedFields: f:name is a field, k:, v: and i: are items, and "." is the value
// itself. If every field is dropped, the map is empty afterwards. Metadata is not
// changed.
func (sk *Skeleton) PruneFields(fields map[string]any) (dropped bool) {
	if sk.root.verbatim {
		return false
	}
	metadata, ok := fields["f:metadata"]
	delete(fields, "f:metadata")
	dropped = pruneFields([]*node{sk.root}, fields)
	if ok {
		fields["f:metadata"] = metadata
	}
	return dropped
}

// pruneFields prunes the set of a value that has several nodes.
func pruneFields(nodes []*node, fields map[string]any) (dropped bool) {
	for step, below := range fields {
		kind, name, ok := strings.Cut(step, ":")
		if !ok {
			continue
		}
		next, known := fieldNodes(nodes, kind, name)
		owned, isSet := below.(map[string]any)
		switch {
		case !known || !isSet:
		case len(next) == 0:
			delete(fields, step)
			dropped = true
		case len(owned) > 0 && pruneFields(next, owned):
			dropped = true
			if len(owned) == 0 {
				delete(fields, step)
			} else if _, self := owned["."]; self && len(owned) == 1 {
				// A set of only the value itself is written as {}.
				maps.DeleteFunc(owned, func(string, any) bool { return true })
			}
		}
	}
	return dropped
}

// fieldNodes returns the nodes of a field or item, none if it is not specified. known
// is false if pruning does not apply there.
func fieldNodes(nodes []*node, kind, name string) (next []*node, known bool) {
	for _, n := range nodes {
		if n.verbatim {
			return nil, false
		}
	}
	if kind == "f" {
		return gatherAll(nil, nodes, name)
	}
	for _, n := range nodes {
		// Items by position are not fields of their own.
		if len(n.positions) > 0 {
			return nil, false
		}
		next = append(next, n.item(0))
	}
	return next, true
}
