package stock_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/value"
)

// generator makes small definitions with markers, and pairs of valid objects.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 2))} }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

// names are names of properties: CEL escapes some of them, and cannot name the last one.
var names = []string{"a", "b", "c", "d-e", "in", "f__g", "h__dash__i", "namespace", "j.k", "1l"}

func (g generator) name() string {
	if g.chance(60) {
		return names[g.IntN(3)]
	}
	return names[g.IntN(len(names))]
}

// definition returns a definition with one version.
func (g generator) definition() map[string]any {
	properties := map[string]any{}
	for _, name := range []string{"spec", "status", "data"}[:1+g.IntN(3)] {
		properties[name] = g.schema(3)
	}
	root := map[string]any{"type": "object", "properties": properties}
	if g.chance(50) {
		root["required"] = []any{"spec"}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "things", "kind": "Thing"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": root},
			}},
		},
	}
}

// schema returns a schema that Kubernetes accepts, with markers.
func (g generator) schema(depth int) map[string]any {
	s, hasKeys := g.scalarSchema(), false
	if depth > 0 && g.chance(75) {
		switch g.IntN(6) {
		case 0, 1, 2:
			s = g.objectSchema(depth)
		case 3:
			s, hasKeys = map[string]any{"type": "object", "additionalProperties": g.schema(depth - 1), "maxProperties": int64(4)}, true
		case 4:
			s = map[string]any{"type": "array", "items": g.schema(depth - 1), "maxItems": int64(4)}
		case 5:
			s, hasKeys = g.keyedList(depth), true
		}
	}
	if g.chance(12) {
		s["nullable"] = true
	}
	if g.chance(3) {
		delete(s, "maxItems")
		delete(s, "maxLength")
		delete(s, "maxProperties")
	}
	if g.chance(30) {
		g.mark(s, hasKeys)
	}
	return s
}

// mark adds a marker to a schema.
func (g generator) mark(s map[string]any, hasKeys bool) {
	if g.chance(50) {
		if set := g.set(s, hasKeys); set.Keyword() == "x-kubernetes-update" {
			s["x-kubernetes-update"] = set.KeywordValue()
			return
		}
	}
	markers := []string{"immutable"}
	if hasKeys {
		markers = append(markers, "addition-only", "deletion-only")
		if s["x-kubernetes-list-type"] != "set" {
			markers = append(markers, "immutable-keys")
		}
	}
	s["x-kubernetes-"+markers[g.IntN(len(markers))]] = true
}

// set returns a random set of constraints.
func (g generator) set(s map[string]any, hasKeys bool) immutability.Marker {
	set := immutability.Marker(1 + g.IntN(7))
	if hasKeys {
		set = immutability.Marker(1 + g.IntN(31))
	}
	if s["x-kubernetes-list-type"] == "set" && set&immutability.ImmutableKeys == immutability.ImmutableKeys {
		set &^= immutability.NoAddItem
	}
	if set.Covers(immutability.Immutable) {
		set = immutability.Immutable
	}
	return set
}

// conditions are about the random objects. Some cannot be evaluated for some of them.
var conditions = []string{
	`has(oldSelf.spec)`, `!has(oldSelf.spec) || oldSelf.metadata.name == "one"`, `oldSelf.metadata.name != "one"`,
	`oldSelf.metadata.labels["mode"] == "fixed"`, `has(oldSelf.metadata.labels) && "mode" in oldSelf.metadata.labels`,
}

// marks adds lines to the annotation of a definition: rules about fields, labels and annotations, some with
// a condition.
func (g generator) marks(definition map[string]any) {
	var lines []string
	add := func(m immutability.Mark) {
		if g.chance(50) {
			m.While = conditions[g.IntN(len(conditions))]
		}
		if g.chance(25) {
			m.Unless = "resize"
		}
		lines = append(lines, m.String())
	}
	var walk func(path *value.Path, s map[string]any)
	walk = func(path *value.Path, s map[string]any) {
		_, isMap := s["additionalProperties"]
		if path != nil && g.chance(12) {
			add(immutability.Mark{Path: path, Marker: g.set(s, isMap || s["x-kubernetes-list-type"] != nil)})
		}
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			walk(path.Append(value.Step{Name: name}), properties[name].(map[string]any))
		}
		if values, ok := s["additionalProperties"].(map[string]any); ok {
			walk(path.Append(value.Step{Kind: value.AnyName}), values)
		}
		if items, ok := s["items"].(map[string]any); ok {
			walk(path.Append(value.Step{Kind: value.AnyItem}), items)
		}
	}
	walk(nil, rootSchema(definition))
	for _, name := range []string{"labels", "annotations"} {
		path := (*value.Path)(nil).Append(value.Step{Name: "metadata"}).Append(value.Step{Name: name})
		if g.chance(15) {
			add(immutability.Mark{Path: path, Marker: g.set(nil, true)})
		}
		if g.chance(15) {
			key := []string{"mode", "example.com/mode", "in"}[g.IntN(3)]
			add(immutability.Mark{Path: path.Append(value.Step{Name: key}), Marker: g.set(nil, false)})
		}
	}
	if len(lines) > 0 {
		definition["metadata"].(map[string]any)["annotations"] = map[string]any{immutability.Annotation: strings.Join(lines, "\n")}
	}
}

// metadata returns random labels or annotations, nil for none.
func (g generator) metadata() map[string]any {
	var out map[string]any
	for _, key := range []string{"mode", "example.com/mode", "in", "holdfast.dev/a", "kubectl.kubernetes.io/b"} {
		if g.chance(25) {
			if out == nil {
				out = map[string]any{}
			}
			out[key] = []any{"fixed", "other", ""}[g.IntN(3)]
		}
	}
	return out
}

// setMetadata sets the labels and annotations of an object.
func (g generator) setMetadata(object map[string]any) {
	metadata := map[string]any{"name": "one", "namespace": "default"}
	for _, name := range []string{"labels", "annotations"} {
		if values := g.metadata(); values != nil {
			metadata[name] = values
		} else if g.chance(20) {
			metadata[name] = map[string]any{}
		}
	}
	object["metadata"] = metadata
}

// setNull makes null of the labels or annotations if only the other map exists, as a server-side apply of an empty map does.
func setNull(object map[string]any) {
	metadata := object["metadata"].(map[string]any)
	for name, other := range map[string]string{"labels": "annotations", "annotations": "labels"} {
		if metadata[name] == nil && metadata[other] != nil {
			metadata[name] = nil
		}
	}
}

func (g generator) scalarSchema() map[string]any {
	switch g.IntN(10) {
	case 0:
		return map[string]any{"type": "integer"}
	case 1:
		return map[string]any{"type": "number"}
	case 2:
		return map[string]any{"type": "boolean"}
	case 3:
		return map[string]any{"x-kubernetes-int-or-string": true, "maxLength": int64(8)}
	case 4:
		return map[string]any{"type": "string", "format": []string{"date-time", "byte", "date", "duration"}[g.IntN(4)], "maxLength": int64(40)}
	case 5:
		if g.chance(30) {
			return map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		}
	}
	return map[string]any{"type": "string", "maxLength": int64(8)}
}

func (g generator) objectSchema(depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for range 1 + g.IntN(3) {
		properties[g.name()] = g.schema(depth - 1)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if g.chance(30) {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if g.chance(10) {
		s["x-kubernetes-map-type"] = "atomic"
	}
	return s
}

// keyedList returns the schema of a list of type set or map.
func (g generator) keyedList(depth int) map[string]any {
	s := map[string]any{"type": "array", "maxItems": int64(4), "x-kubernetes-list-type": "set"}
	if g.chance(40) {
		item := g.scalarSchema()
		if item["type"] == "object" {
			item = map[string]any{"type": "string"}
		}
		s["items"] = item
		return s
	}
	items := g.objectSchema(depth)
	delete(items, "x-kubernetes-map-type")
	properties := items["properties"].(map[string]any)
	keys := [][]any{{"k"}, {"k", "l"}, {"k-1"}, {"in"}}[g.IntN(4)]
	required, _ := items["required"].([]any)
	for i, key := range keys {
		properties[key.(string)] = map[string]any{
			"type": []string{"string", "integer"}[i%2], "x-kubernetes-immutable": true, "maxLength": int64(8),
		}
		if i%2 == 1 {
			delete(properties[key.(string)].(map[string]any), "maxLength")
		}
		if !slices.Contains(required, key) {
			required = append(required, key)
		}
	}
	items["required"] = required
	s["items"], s["x-kubernetes-list-type"], s["x-kubernetes-list-map-keys"] = items, "map", keys
	return s
}

// object returns a valid object.
func (g generator) object(root map[string]any) map[string]any {
	object := g.value(root).(map[string]any)
	object["apiVersion"], object["kind"] = "example.com/v1", "Thing"
	object["metadata"] = map[string]any{"name": "one", "namespace": "default"}
	return object
}

// value returns a valid value, with few different scalars.
func (g generator) value(s map[string]any) any {
	if s["nullable"] == true && g.chance(30) {
		return nil
	}
	if s["x-kubernetes-int-or-string"] == true {
		return []any{int64(1), "1", "2"}[g.IntN(3)]
	}
	switch s["type"] {
	case "integer":
		return int64(g.IntN(2))
	case "number":
		return []any{int64(1), 1.0, 1.5, int64(9007199254740993), int64(9007199254740992)}[g.IntN(5)]
	case "boolean":
		return g.chance(50)
	case "string":
		return g.text(s["format"])
	case "array":
		return g.list(s)
	}
	object := map[string]any{}
	if s["x-kubernetes-preserve-unknown-fields"] == true {
		object[g.name()] = g.text(nil)
		return object
	}
	if values, ok := s["additionalProperties"].(map[string]any); ok {
		for range g.IntN(3) {
			object[g.name()] = g.value(values)
		}
		return object
	}
	required, _ := s["required"].([]any)
	properties := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || g.chance(60) {
			object[name] = g.value(properties[name].(map[string]any))
		}
	}
	return object
}

// text returns a string of a format. Some formats have two texts for one value.
func (g generator) text(format any) string {
	texts := map[any][]string{
		"date-time": {"2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000Z", "2021-01-01T00:00:00Z"},
		"date":      {"2020-01-01", "2021-01-01"},
		"duration":  {"1m", "60s", "2m"},
		"byte":      {"YQ==", "Yg=="},
		nil:         {"x", "y", ""},
	}[format]
	return texts[g.IntN(len(texts))]
}

func (g generator) list(s map[string]any) []any {
	items := s["items"].(map[string]any)
	list := []any{}
	for range g.IntN(4) {
		list = append(list, g.value(items))
	}
	return unique(s, list)
}

// unique removes items that a list of type set or map may not have twice.
func unique(s map[string]any, list []any) []any {
	if s["x-kubernetes-list-type"] == nil {
		return list
	}
	keys, _ := s["x-kubernetes-list-map-keys"].([]any)
	seen := map[string]bool{}
	kept := []any{}
	for _, item := range list {
		identity := fmt.Sprint(item)
		if i, isInt := item.(int64); isInt {
			// CEL takes two integers for one number if they are equal as floating-point numbers.
			identity = fmt.Sprint(float64(i))
		}
		if object, ok := item.(map[string]any); ok && keys != nil {
			identity = ""
			for _, key := range keys {
				identity += fmt.Sprintf("%v,", object[key.(string)])
			}
		}
		if !seen[identity] {
			seen[identity] = true
			kept = append(kept, item)
		}
	}
	return kept
}

// change returns a valid value that differs a little.
func (g generator) change(s map[string]any, v any) any {
	if g.chance(8) || s["type"] == "number" && g.chance(30) {
		return g.value(s)
	}
	switch v := v.(type) {
	case []any:
		items := s["items"].(map[string]any)
		list := []any{}
		for _, item := range v {
			if !g.chance(8) {
				list = append(list, g.change(items, item))
			}
		}
		if g.chance(15) {
			g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		if g.chance(15) && len(list) < 4 {
			list = append(list, g.value(items))
		}
		return unique(s, list)
	case map[string]any:
		return g.changeObject(s, v)
	}
	return runtime.DeepCopyJSONValue(v)
}

func (g generator) changeObject(s, v map[string]any) map[string]any {
	object := map[string]any{}
	required, _ := s["required"].([]any)
	properties, isObject := s["properties"].(map[string]any)
	values, isMap := s["additionalProperties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		property, isProperty := properties[name].(map[string]any)
		switch {
		case name == "apiVersion" || name == "kind" || name == "metadata":
			object[name] = v[name]
		case g.chance(8) && !slices.Contains(required, any(name)):
		case isProperty:
			object[name] = g.change(property, v[name])
		case isMap:
			object[name] = g.change(values, v[name])
		default:
			object[name] = v[name]
		}
	}
	if isObject && g.chance(15) {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if _, known := object[name]; !known {
				object[name] = g.value(properties[name].(map[string]any))
				break
			}
		}
	}
	if isMap && g.chance(15) && len(object) < 4 {
		object[g.name()] = g.value(values)
	}
	if s["x-kubernetes-preserve-unknown-fields"] == true && g.chance(20) {
		return map[string]any{g.name(): g.text(nil)}
	}
	return object
}
