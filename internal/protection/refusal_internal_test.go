package protection

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// A protection that refuses a write several times, because the store tries it again, is one refusal with all fields, each once, and no more
// than a bound.
func TestRefusalFields(t *testing.T) {
	t.Parallel()
	judged := &record{}
	ctx := context.WithValue(t.Context(), recordKey{}, judged)
	Refuse(ctx, KeptObject)
	Refuse(ctx, Policy, "spec.a", "spec.b")
	Refuse(ctx, Policy, "spec.b", "spec.c")
	Refuse(DryRun(ctx), Policy, "spec.dry")
	found := judged.refusals()
	if len(found) != 2 || found[0].Protection != KeptObject || len(found[0].Fields) != 0 ||
		!slices.Equal(found[1].Fields, []string{"spec.a", "spec.b", "spec.c"}) {
		t.Errorf("refusals %+v", found)
	}
	for i := range 2 * maxFields {
		Refuse(ctx, Ownership, fmt.Sprint("spec.f", i))
	}
	if found = judged.refusals(); len(found[2].Fields) != maxFields {
		t.Errorf("%d fields, want %d", len(found[2].Fields), maxFields)
	}
}
