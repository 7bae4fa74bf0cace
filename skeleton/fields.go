package skeleton

import (
	"maps"
	"strings"
)

// PruneFields drops from a set of fields, in place, every field that is not
// specified, and says whether it dropped any. The set is written as fieldsV1 of
// managedFields is: f:name holds what is owned of a field, k:, v: and i: of an
// item, and "." stands for the value itself. A set in which nothing is owned any
// more is empty. Metadata is left alone.
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

// pruneFields prunes what is owned of a value that all the nodes specify.
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
				// What is owned alone is written without the point.
				maps.DeleteFunc(owned, func(string, any) bool { return true })
			}
		}
	}
	return dropped
}

// fieldNodes are the nodes of what a step of a set of fields leads to, none if it
// is not specified. known is false where pruning would not look.
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
		// Items by position have no owners of their own.
		if len(n.positions) > 0 {
			return nil, false
		}
		next = append(next, n.item(0))
	}
	return next, true
}
