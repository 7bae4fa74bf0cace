package upstream_test

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// place is a value of an object that a change can replace or remove, or a field that a change can
// add.
type place struct {
	schema  *spec.Schema
	present bool
	value   any
	set     func(any)
	remove  func()
	// repeat appends the value to its list once more; nil if it is in no list.
	repeat func()
}

// mutate returns a copy of an object with a number of random changes. Only fields below the
// top-level fields for which touch is true change.
func (g *generator) mutate(object manifest, schema *spec.Schema, changes int, touch func(field string) bool) manifest {
	changed := clone(object)
	g.seen = collectTexts(nil, changed)
	for range changes {
		present, absent := g.places(changed, schema, touch)
		candidates := present
		if len(absent) > 0 && (len(present) == 0 || g.IntN(2) == 0) {
			candidates = absent
		}
		if len(candidates) == 0 {
			return changed
		}
		g.change(pick(g.Rand, candidates))
	}
	return changed
}

func (g *generator) change(p place) {
	switch {
	case !p.present:
		p.set(g.value(p.schema, 2))
	case g.IntN(5) == 0:
		p.remove()
	case p.repeat != nil && g.IntN(3) == 0:
		p.repeat()
	default:
		switch p.value.(type) {
		case map[string]any:
			p.set(g.pickEmpty(manifest{}, p.schema))
		case []any:
			p.set(g.pickEmpty([]any{}, p.schema))
		default:
			p.set(g.value(p.schema, 2))
		}
	}
}

// pickEmpty returns an empty object or list, or a random one.
func (g *generator) pickEmpty(empty any, schema *spec.Schema) any {
	if g.IntN(2) == 0 {
		return empty
	}
	return g.value(schema, 2)
}

// places lists the values of an object, and the fields that it lacks.
func (g *generator) places(object manifest, schema *spec.Schema, touch func(field string) bool) (present, absent []place) {
	var visit func(value any, schema *spec.Schema, top bool)
	add := func(p place) {
		if p.present {
			present = append(present, p)
			visit(p.value, p.schema, false)
			return
		}
		absent = append(absent, p)
	}
	visit = func(value any, schema *spec.Schema, top bool) {
		resolved, model := g.models.resolve(schema)
		switch value := value.(type) {
		case map[string]any:
			if resolved.AdditionalProperties != nil && resolved.AdditionalProperties.Schema != nil {
				for _, key := range slices.Sorted(maps.Keys(value)) {
					add(mapPlace(value, key, resolved.AdditionalProperties.Schema))
				}
				add(mapPlace(value, g.key(), resolved.AdditionalProperties.Schema))
				return
			}
			for _, name := range g.models.properties(resolved, model) {
				if top && !touch(name) {
					continue
				}
				property := resolved.Properties[name]
				add(mapPlace(value, name, &property))
			}
		case []any:
			if resolved.Items == nil || resolved.Items.Schema == nil {
				return
			}
			for i := range value {
				add(listPlace(value, i, resolved.Items.Schema))
			}
		}
	}
	visit(object, schema, true)
	return present, absent
}

func mapPlace(object manifest, key string, schema *spec.Schema) place {
	value, present := object[key]
	p := place{
		schema: schema, present: present, value: value,
		set:    func(v any) { object[key] = v },
		remove: func() { delete(object, key) },
	}
	if list, ok := value.([]any); ok && len(list) > 0 {
		p.repeat = func() { object[key] = append(slices.Clone(list), clone(list[0])) }
	}
	return p
}

func listPlace(list []any, i int, schema *spec.Schema) place {
	set := func(v any) { list[i] = v }
	return place{schema: schema, present: true, value: list[i], set: set, remove: func() { set(emptyLike(list[i])) }}
}

// emptyLike returns the empty value of the same JSON type.
func emptyLike(value any) any {
	switch value.(type) {
	case map[string]any:
		return manifest{}
	case []any:
		return []any{}
	case string:
		return ""
	case bool:
		return false
	}
	return int64(0)
}

// collectTexts appends all strings of a value.
func collectTexts(found []string, value any) []string {
	switch value := value.(type) {
	case string:
		return append(found, value)
	case []any:
		for _, item := range value {
			found = collectTexts(found, item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			found = collectTexts(found, value[key])
		}
	}
	return found
}

// clone copies a JSON value.
func clone[T any](value T) T {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var copied T
	if err := json.Unmarshal(text, &copied); err != nil {
		panic(err)
	}
	return copied
}
