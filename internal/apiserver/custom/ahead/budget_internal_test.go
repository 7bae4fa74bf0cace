package ahead

import (
	"bytes"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/definition"
)

// sized returns a definition whose two schemas have a number of bytes together.
func sized(size int) *definition.CustomResourceDefinition {
	crd := &definition.CustomResourceDefinition{}
	for _, part := range []int{size / 2, size - size/2} {
		crd.Spec.Versions = append(crd.Spec.Versions, definition.CustomResourceDefinitionVersion{
			Schema: &definition.CustomResourceValidation{OpenAPIV3Schema: bytes.Repeat([]byte(" "), part)},
		})
	}
	crd.Spec.Versions = append(crd.Spec.Versions, definition.CustomResourceDefinitionVersion{Name: "without a schema"})
	return crd
}

// A budget takes large definitions until they have its bytes, and more when the first ones are a period old.
func TestBudget(t *testing.T) {
	t.Parallel()
	budget, began := newBudget(3*Smallest), time.Now()
	for i, step := range []struct {
		size  int
		after time.Duration
		want  bool
	}{
		{size: Smallest - 1},
		{size: Smallest, want: true},
		{size: 3 * Smallest, after: time.Minute},
		{size: 2 * Smallest, after: 2 * time.Minute, want: true},
		{size: Smallest, after: 3 * time.Minute},
		{size: Smallest, after: period, want: true},
		{size: Smallest, after: period + time.Minute},
		{size: 2 * Smallest, after: period + 2*time.Minute, want: true},
	} {
		if got := budget.Takes(sized(step.size), began.Add(step.after)); got != step.want {
			t.Errorf("step %d: %t, want %t", i, got, step.want)
		}
	}
}
