package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// write is one write of a ship.
type write struct {
	method, contentType string
	// query and subresource are parts of the path.
	query, subresource string
	body               any
	// replaces means that body is the spec of a PUT, which needs the metadata of the object.
	replaces bool
	// stale means that the PUT has the resourceVersion of the object when it was created.
	stale bool
}

func (w write) String() string {
	body, _ := json.Marshal(w.body)
	return fmt.Sprintf("%s ships/%s%s %s %s stale=%t", w.method, w.subresource, w.query, w.contentType, body, w.stale)
}

const mergePatch = "application/merge-patch+json"

// newShip returns a random spec.
func (t *trial) newShip() object {
	spec := object{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if t.random.IntN(4) > 0 {
			spec[name] = t.pick(name)
		}
	}
	return spec
}

func (t *trial) pick(name string) any { return values[name][t.random.IntN(len(values[name]))] }

// change returns a random value for one or two fields. Removed fields are nil.
func (t *trial) change() object {
	names := slices.Sorted(maps.Keys(values))
	out := object{}
	for range 1 + t.random.IntN(2) {
		name := names[t.random.IntN(len(names))]
		out[name] = t.pick(name)
		if t.random.IntN(5) == 0 {
			out[name] = nil
		}
	}
	return out
}

// nextWrite returns a random write of a ship with a spec.
func (t *trial) nextWrite(spec object) write {
	patch := write{method: http.MethodPatch, contentType: mergePatch}
	switch t.random.IntN(14) {
	case 0, 1, 2:
		patch.body = object{"spec": t.change()}
	case 3, 4:
		return t.nextJSONPatch(spec)
	case 5, 6, 7, 8:
		return t.nextReplace(spec)
	case 9:
		patch.subresource, patch.body = "status", object{"status": object{"phase": []any{"new", "old", nil}[t.random.IntN(3)]}}
	case 10:
		patch.subresource, patch.body = "scale", object{"spec": object{"replicas": t.random.IntN(3)}}
	case 11:
		// The schema does not have this size.
		patch.body = object{"spec": object{"size": "huge", "colour": t.pick("colour")}}
	case 12:
		patch.body = object{"metadata": object{"labels": object{"a": fmt.Sprint(t.random.IntN(3))}}}
	case 13:
		applied := t.change()
		maps.DeleteFunc(applied, func(_ string, v any) bool { return v == nil })
		patch.contentType, patch.query = "application/apply-patch+yaml", fmt.Sprintf("?force=true&fieldManager=m%d", t.random.IntN(2))
		patch.body = object{"apiVersion": "example.com/v1", "kind": "Ship", "spec": applied}
	}
	return patch
}

// nextJSONPatch returns a patch that adds, replaces or removes a field.
func (t *trial) nextJSONPatch(spec object) write {
	names := slices.Sorted(maps.Keys(values))
	name := names[t.random.IntN(len(names))]
	operation := object{"op": "add", "path": "/spec/" + name, "value": t.pick(name)}
	if _, exists := spec[name]; exists && t.random.IntN(2) == 0 {
		operation = object{"op": "remove", "path": "/spec/" + name}
	}
	return write{method: http.MethodPatch, contentType: "application/json-patch+json", body: []any{operation}}
}

// nextReplace returns a PUT that changes one or two fields.
func (t *trial) nextReplace(spec object) write {
	replaced := maps.Clone(spec)
	changes := t.change()
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		value := changes[name]
		if value == nil && (name != "note" || t.random.IntN(2) == 0) {
			delete(replaced, name)
		} else {
			replaced[name] = value
		}
	}
	return write{method: http.MethodPut, body: replaced, replaces: true, stale: t.random.IntN(6) == 0}
}
