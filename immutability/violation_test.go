package immutability_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/yamltest"
)

func TestViolation(t *testing.T) {
	policy := compile(t, `{properties: {spec: {properties: {
		size: {x-kubernetes-immutable: true},
		labels: {x-kubernetes-immutable-keys: true, additionalProperties: true},
		grow: {x-kubernetes-addition-only: true, additionalProperties: true},
		shrink: {x-kubernetes-deletion-only: true, additionalProperties: true},
		list: {x-kubernetes-immutable: true}}}}}`)
	found := policy.Check(
		yamltest.Map(t, `{spec: {size: {a: 1, b: 2}, labels: {a: 1}, grow: {a: 1}, list: [1, 2]}}`),
		yamltest.Map(t, `{spec: {size: {a: 2, c: 3}, labels: {b: 1}, shrink: {a: 1}, list: [2, 1]}}`))
	const recreate = ", or create a new object"
	want := []string{
		`spec.grow.a|removed|1|<nil>|x-kubernetes-addition-only|properties[spec].properties[grow]|keys may be added but not ` +
			`removed: put it back` + recreate,
		`spec.labels.a|removed|1|<nil>|x-kubernetes-immutable-keys|properties[spec].properties[labels]|the keys are fixed, ` +
			`their values may change: put the key back` + recreate,
		`spec.labels.b|added|<nil>|1|x-kubernetes-immutable-keys|properties[spec].properties[labels]|the keys are fixed, ` +
			`their values may change: leave the new key out` + recreate,
		`spec.list|reordered|[1 2]|[2 1]|x-kubernetes-immutable|properties[spec].properties[list]|the order is fixed too: ` +
			`put the items back in the old order` + recreate,
		`spec.shrink.a|added|<nil>|1|x-kubernetes-deletion-only|properties[spec].properties[shrink]|keys may be removed but ` +
			`not added: leave it out` + recreate,
		`spec.size.a|changed|1|2|x-kubernetes-immutable|properties[spec].properties[size]|` +
			`it is fixed since it was set: keep the old value` + recreate,
		`spec.size.b|removed|2|<nil>|x-kubernetes-immutable|properties[spec].properties[size]|it is fixed since it was set: ` +
			`put the old value back` + recreate,
		`spec.size.c|added|<nil>|3|x-kubernetes-immutable|properties[spec].properties[size]|it was not set when the object ` +
			`was created and cannot be set now: leave it out` + recreate,
	}
	var got []string
	for _, v := range found {
		got = append(got, fmt.Sprintf("%v|%v|%v|%v|%v|%v|%v",
			v.Path, v.Operation, v.Old, v.New, v.Marker.Keyword(), v.SchemaPath, v.Hint()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestViolationOfDeclaration(t *testing.T) {
	policy, err := immutability.Declare(claim)
	if err != nil {
		t.Fatal(err)
	}
	found := policy.Check(
		yamltest.Map(t, `{spec: {resources: {requests: {storage: 2Gi}}}}`),
		yamltest.Map(t, `{spec: {resources: {requests: {storage: 1Gi}}}}`))
	if len(found) != 1 {
		t.Fatalf("got %v", lines(found))
	}
	if got := found[0].SchemaPath.String(); got != "spec.resources.requests.storage" {
		t.Errorf("declared by %s", got)
	}
	const want = "it is fixed since it was set: keep the old value, or create a new object; the exception (a storage request " +
		"may grow) does not apply here"
	if got := found[0].Hint(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Messages are short for objects with long keys, long values and deep paths.
func TestViolationIsShort(t *testing.T) {
	policy := compile(t, `{properties: {x: {x-kubernetes-immutable: true}}}`)
	long := strings.Repeat("ä", 100_000)
	deep := map[string]any{"end": int64(1)}
	for range 50 {
		deep = map[string]any{strings.Repeat("k", 100): deep}
	}
	for name, test := range map[string]struct{ old, new any }{
		"long string": {long, "b"},
		"long list":   {make([]any, 100_000), int64(1)},
		"long key":    {map[string]any{long: int64(1)}, map[string]any{}},
		"deep path":   {deep, map[string]any{strings.Repeat("k", 100): map[string]any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			found := policy.Check(map[string]any{"x": test.old}, map[string]any{"x": test.new})
			if len(found) != 1 {
				t.Fatalf("got %d violations", len(found))
			}
			if got := found[0].String(); len(got) > 2000 || !strings.HasPrefix(got, "x") {
				t.Errorf("%d bytes: %.200s", len(got), got)
			}
		})
	}
}

// Rule is the beginning of Message and has no values.
func TestViolationRule(t *testing.T) {
	policy := compile(t, `{properties: {size: {x-kubernetes-immutable: true}, list: {x-kubernetes-immutable: true},
		labels: {x-kubernetes-immutable-keys: true, additionalProperties: true},
		grow: {x-kubernetes-addition-only: true, additionalProperties: true}}}`)
	found := policy.Check(
		yamltest.Map(t, `{size: 80, list: [1, 2], labels: {a: old}, grow: {b: old}}`),
		yamltest.Map(t, `{size: 81, list: [2, 1], labels: {a: old, c: new}, grow: {}}`))
	want := []string{
		"grow.b: field is immutable: addition only: removed", "labels.c: field is immutable: immutable keys: added", "list: field is immutable: reordered", "size: field is immutable: changed",
	}
	var got []string
	for _, v := range found {
		got = append(got, v.Path.String()+": "+v.Rule())
		if !strings.HasPrefix(v.Message(), v.Rule()+" ") {
			t.Errorf("message %q does not begin with %q", v.Message(), v.Rule())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
