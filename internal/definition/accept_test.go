package definition_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
)

// Validate refuses what upstream's validators refuse, with the same errors. Each value is the
// field a of an object and of its status.
func TestQuickRefusesWhatUpstreamRefuses(t *testing.T) {
	tests := map[string]struct {
		schema string
		valid  []any
		not    []any
	}{
		"a format without a type": {
			schema: `{x-kubernetes-preserve-unknown-fields: true, format: date-time}`,
			valid:  []any{"2026-01-02T03:04:05Z", []any{"x"}},
			not:    []any{"x", map[string]any{"x": "y"}, int64(1)},
		},
		"a format of objects": {
			schema: `{type: object, format: date-time, x-kubernetes-preserve-unknown-fields: true}`,
			valid:  []any{map[string]any{"x": "y"}},
			not:    []any{int64(1), "x"},
		},
		"int-or-string": {
			schema: `{x-kubernetes-int-or-string: true, maximum: 5}`,
			valid:  []any{"x", int64(5), 5.0},
			not:    []any{int64(6), 1.5, true, nil, map[string]any{}, []any{}},
		},
		"texts": {
			schema: `{type: string, minLength: 2, maxLength: 3, pattern: '^[a-zé]+$', enum: [ab, éé, a, A1, abcd]}`,
			valid:  []any{"ab", "éé"},
			not:    []any{"a", "A1", "abcd", "xy", int64(1), nil},
		},
		"formats": {
			schema: `{type: string, format: duration, maxLength: 4}`,
			valid:  []any{"1h", "20m"},
			not:    []any{"x", "1h20m", ""},
		},
		"bounds": {
			schema: `{type: number, minimum: 1, maximum: 9}`,
			valid:  []any{int64(1), 1.0, 8.5, int64(9)},
			not:    []any{0.5, int64(10), 9.1, "5"},
		},
		"bounds between integers, which Kubernetes cuts": {
			schema: `{type: number, minimum: 1.5, maximum: 2.5}`,
			valid:  []any{1.5, int64(1), int64(2), 2.5},
			not:    []any{1.4, int64(0), int64(3)},
		},
		"exclusive bounds": {
			schema: `{type: number, minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true, multipleOf: 0.5}`,
			valid:  []any{1.5, 2.0},
			not:    []any{1.0, int64(3), 1.25},
		},
		"int32": {
			schema: `{type: integer, format: int32}`,
			valid:  []any{int64(1), 1.0},
			not:    []any{int64(1 << 40), 1.5, "1"},
		},
		"nullable": {
			schema: `{type: object, nullable: true, required: [x], properties: {x: {type: string, nullable: true, enum: [ok]}}}`,
			valid:  []any{nil, map[string]any{"x": "ok"}},
			not:    []any{map[string]any{}, map[string]any{"x": nil}, map[string]any{"x": "z"}, []any{}},
		},
		"an enum without a type": {
			schema: `{x-kubernetes-preserve-unknown-fields: true, enum: [x, {k: z}]}`,
			valid:  []any{"x", map[string]any{"k": "z"}},
			not:    []any{"z", nil, map[string]any{}, []any{}},
		},
		"sizes of lists and maps": {
			schema: `{type: array, minItems: 1, maxItems: 2, items: {type: object, minProperties: 1, maxProperties: 2,
				additionalProperties: {type: string, maxLength: 2}}}`,
			valid: []any{[]any{map[string]any{"x": "y"}}},
			not: []any{
				[]any{},
				[]any{map[string]any{}},
				[]any{map[string]any{"x": "long"}},
				[]any{map[string]any{"x": "", "y": "", "z": ""}},
				[]any{map[string]any{"x": ""}, map[string]any{"x": ""}, map[string]any{"x": ""}},
			},
		},
		"keys of lists": {
			schema: `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
				items: {type: object, required: [k], properties: {
				k: {type: string}, s: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}}`,
			valid: []any{[]any{map[string]any{"k": "x"}, map[string]any{"k": "y", "s": []any{"x", "y"}}}},
			not: []any{
				[]any{map[string]any{"k": "x"}, map[string]any{"k": "x"}},
				[]any{map[string]any{"k": "x", "s": []any{"x", "x"}}},
			},
		},
		"an embedded resource": {
			schema: `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}`,
			valid:  []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x"}}},
			not: []any{
				map[string]any{},
				map[string]any{"apiVersion": "v1", "kind": ""},
				map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"labels": map[string]any{"-": "-"}}},
			},
		},
		"a rule of an embedded resource": {
			schema: `{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-validations: [{rule: "self.metadata.name == 'x'"}]}`,
			valid:  []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x"}}},
			not:    []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "y"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			part := `{type: object, properties: {a: ` + test.schema + `}}`
			schema := `{type: object, properties: {a: ` + test.schema + `, status: ` + part + `}}`
			c := compiled(t, read(t, widgets(schema)+"    subresources: {status: {}}\n"))
			for _, v := range test.valid {
				compareQuick(t, c, v, true)
			}
			for _, v := range test.not {
				compareQuick(t, c, v, false)
			}
		})
	}
}

// compareQuick compares the errors about a value with those of upstream.
func compareQuick(t *testing.T, c *definition.Compiled, a any, valid bool) {
	t.Helper()
	obj := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "a": a}
	withStatus := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "status": map[string]any{"a": a}}
	without := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}
	for what, validate := range map[string]func(*definition.Compiled) []string{
		"create": func(c *definition.Compiled) []string { return messages(c.Validate(t.Context(), obj, nil)) },
		"update": func(c *definition.Compiled) []string { return messages(c.Validate(t.Context(), obj, without)) },
		"status": func(c *definition.Compiled) []string {
			return messages(c.ValidateStatus(t.Context(), withStatus, without))
		},
	} {
		want := validate(c.WithoutQuick())
		if diff := cmp.Diff(want, validate(c)); diff != "" {
			t.Errorf("%s with %v (-upstream +got):\n%s", what, a, diff)
		}
		// Like upstream, a write of the status does not validate the metadata of embedded resources.
		if what != "status" && valid != (len(want) == 0) {
			t.Errorf("%s with %v: upstream's errors are %q", what, a, want)
		}
	}
}
