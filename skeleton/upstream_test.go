package skeleton_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"

	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/skeleton"
)

// structural returns a schema that upstream calls structural.
func structural(c *chooser, depth int) map[string]any {
	s := map[string]any{"type": "object"}
	if c.oneIn(5) {
		s["nullable"] = true
	}
	if depth == 0 {
		s["type"] = pick(c, []string{"string", "integer", "object"})
		return s
	}
	child := func() any { return structural(c, depth-1) }
	switch c.below(8) {
	case 1, 2, 3, 4:
		properties := map[string]any{}
		for range 1 + c.below(3) {
			properties[pick(c, fields)] = child()
		}
		s["properties"] = properties
		if c.oneIn(4) {
			s["x-kubernetes-embedded-resource"] = true
		}
		if c.oneIn(4) {
			// Logic about fields that are also named outside of it.
			s["anyOf"] = []any{map[string]any{"required": []any{"a"}}, map[string]any{"not": map[string]any{"required": []any{"b"}}}}
		}
	case 5:
		s["additionalProperties"] = child()
	case 6:
		s["additionalProperties"] = true
	case 7:
		s["type"], s["items"] = "array", child()
	}
	if c.oneIn(4) {
		s["x-kubernetes-preserve-unknown-fields"] = true
	}
	if c.oneIn(8) && s["nullable"] == nil {
		s["default"] = map[string]any{}
	}
	return s
}

func upstreamStructural(t testing.TB, in map[string]any) *structuralschema.Structural {
	t.Helper()
	s, err := structuralschema.NewStructural(upstreamProps(t, in))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// upstreamPrune does what apiextensions-apiserver does to a custom resource in place of
// Prune: it coerces metadata and drops unknown fields and nulls.
func upstreamPrune(t testing.TB, s *structuralschema.Structural, obj map[string]any) []string {
	t.Helper()
	opts := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	coerce := objectmeta.CoerceOptions{DropInvalidFields: true, ReturnUnknownFieldPaths: true}
	err, unknown := objectmeta.CoerceWithOptions(nil, obj, s, true, coerce)
	if err != nil {
		t.Fatal(err)
	}
	unknown = append(unknown, pruning.PruneWithOptions(obj, s, true, opts)...)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, s)
	return unknown
}

// resource returns an object with valid metadata and an unknown key in it.
func resource(c *chooser, depth int) map[string]any {
	obj := anyObject(c, depth)
	obj["apiVersion"], obj["kind"] = "v1", "X"
	obj["metadata"] = map[string]any{"name": "n", "labels": map[string]any{"a": "b"}, "foo": anyValue(c, 1)}
	for key, v := range obj {
		if m, ok := v.(map[string]any); ok && key != "metadata" && c.oneIn(3) {
			m["kind"], m["metadata"] = "Y", map[string]any{"name": "n", "bar": "x"}
		}
	}
	return obj
}

// agreement compares Prune with upstream for one generated schema. It does not generate
// the differences that TestPruneDiffersFromUpstream asserts: maps with
// additionalProperties: true get no nulls.
func agreement(t *testing.T, data []byte) {
	c := &chooser{data}
	in := structural(c, 4)
	in["type"] = "object"
	delete(in, "nullable")
	delete(in, "items")
	delete(in, "default")
	sk := skeleton.Build(schemaOf(t, in))
	upstream := upstreamStructural(t, in)
	for range 4 {
		obj := resource(c, 5)
		dropNullsOfAnyMaps(upstream, obj)
		ours, theirs := clone(t, obj), clone(t, obj)
		sk.Prune(ours)
		upstreamPrune(t, upstream, theirs)
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("pruned (-upstream +ours):\n%s\nobject %s\nschema %s", diff, toJSON(t, obj), toJSON(t, in))
		}
	}
}

func dropNullsOfAnyMaps(s *structuralschema.Structural, x any) {
	if s == nil {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		for key, v := range x {
			prop, known := s.Properties[key]
			switch {
			case known:
				dropNullsOfAnyMaps(&prop, v)
			case s.AdditionalProperties == nil:
			case v == nil && s.AdditionalProperties.Structural == nil:
				delete(x, key)
			default:
				dropNullsOfAnyMaps(s.AdditionalProperties.Structural, v)
			}
		}
	case []any:
		for _, item := range x {
			dropNullsOfAnyMaps(s.Items, item)
		}
	}
}

func TestPruneAgreesWithUpstream(t *testing.T) {
	for _, data := range inputs(3000) {
		if agreement(t, data); t.Failed() {
			return
		}
	}
}

func FuzzPruneAgreesWithUpstream(f *testing.F) {
	for _, data := range inputs(10) {
		f.Add(data)
	}
	f.Fuzz(agreement)
}

// The dropped paths agree too. The object has no nulls, below which upstream does not
// list paths.
func TestDroppedPathsAgreeWithUpstream(t *testing.T) {
	in := yamltest.Map(t, `{type: object, properties: {spec: {type: object, properties: {a: {type: string}, l: {type: array,
		items: {type: object, properties: {b: {type: string}}}}, m: {type: object, additionalProperties: {type: object,
		properties: {c: {type: string}}}}}}}}`)
	obj := yamltest.Map(t, `{apiVersion: v1, kind: X, metadata: {name: x, foo: 1, ownerReferences: [{uid: u, bar: 1}]}, status: {},
		spec: {a: x, b: 1, l: [{b: x}, {b: x, c: {d: 1}}], m: {k1: {c: x, d: 1}}}}`)
	want := upstreamPrune(t, upstreamStructural(t, in), clone(t, obj))
	got := skeleton.Build(schemaOf(t, in)).PrunePaths(obj)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dropped paths (-upstream +ours):\n%s", diff)
	}
}

// The table has every difference from upstream, and the reason.
func TestPruneDiffersFromUpstream(t *testing.T) {
	for name, tc := range map[string]struct{ schema, obj, upstream, ours string }{
		// additionalProperties: false is no map, so no key is specified.
		"additionalProperties false alone": {
			schema:   `{type: object, properties: {a: {type: object, additionalProperties: false}}}`,
			obj:      `{a: {b: 1}}`,
			upstream: `{a: {b: 1}}`,
			ours:     `{a: {}}`,
		},
		// Logic is merged into the skeleton, so its names are specified.
		"properties that appear only inside logic": {
			schema:   `{type: object, properties: {a: {type: object, anyOf: [{properties: {b: {type: string}}}]}}}`,
			obj:      `{a: {b: x}}`,
			upstream: `{a: {}}`,
			ours:     `{a: {b: x}}`,
		},
		// true means the same as {}, which is not nullable. Upstream has no schema for
		// the values of true, and treats the two differently.
		"nulls in a map with additionalProperties true": {
			schema: `{type: object, properties: {a: {type: object, additionalProperties: true}, b: {type: object,
				additionalProperties: {}}}}`,
			obj:      `{a: {k: null}, b: {k: null}}`,
			upstream: `{a: {k: null}, b: {}}`,
			ours:     `{a: {}, b: {}}`,
		},
		// A null under a specified key that is not nullable is dropped. Upstream reads
		// it as empty metadata.
		"metadata null": {
			schema:   `{type: object}`,
			obj:      `{metadata: null}`,
			upstream: `{metadata: {}}`,
			ours:     `{}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := yamltest.Map(t, tc.schema)
			theirs := yamltest.Map(t, tc.obj)
			upstreamPrune(t, upstreamStructural(t, in), theirs)
			if diff := cmp.Diff(yamltest.Map(t, tc.upstream), theirs); diff != "" {
				t.Errorf("upstream (-want +got):\n%s", diff)
			}
			ours := yamltest.Map(t, tc.obj)
			skeleton.Build(schemaOf(t, in)).Prune(ours)
			if diff := cmp.Diff(yamltest.Map(t, tc.ours), ours); diff != "" {
				t.Errorf("ours (-want +got):\n%s", diff)
			}
		})
	}
}
