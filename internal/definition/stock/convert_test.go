package stock_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/definition/stock"
)

// converted returns a definition with its markers at another place, nil if that is refused.
func converted(t *testing.T, definition map[string]any, to stock.Target) map[string]any {
	t.Helper()
	result := stock.Compile(t.Context(), object(t, definition), stock.Options{Target: to})
	if len(result.Refusals) > 0 {
		return nil
	}
	return result.Objects[0]
}

// TestConvertRoundTrip checks that markers that move to the annotation come back as they were, for
// random definitions with two versions.
func TestConvertRoundTrip(t *testing.T) {
	t.Parallel()
	moved := 0
	for seed := range uint64(300) {
		g := newGenerator(seed)
		original := g.definition()
		versions := original["spec"].(map[string]any)["versions"].([]any)
		second := g.definition()["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
		if g.chance(50) {
			// The same schema, so that some lines hold for all versions.
			second = runtime.DeepCopyJSON(versions[0].(map[string]any))
		}
		second["name"], second["storage"] = "v2", false
		original["spec"].(map[string]any)["versions"] = append(versions, second)

		annotated := converted(t, runtime.DeepCopyJSON(original), stock.Annotation)
		if annotated == nil {
			continue
		}
		if hasMarkers(rootSchema(annotated)) {
			t.Fatalf("seed %d: markers stay in the schema", seed)
		}
		back := converted(t, annotated, stock.Markers)
		if diff := cmp.Diff(original, back); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		if hasMarkers(rootSchema(original)) {
			moved++
		}
	}
	if moved < 50 {
		t.Errorf("only %d definitions with markers were converted", moved)
	}
}
