package protection

import (
	"context"
	"slices"
	"testing"
)

// A write that is judged again announces what the last judgement found.
func TestOverrideAgain(t *testing.T) {
	t.Parallel()
	judged := &record{}
	ctx := context.WithValue(t.Context(), recordKey{}, judged)
	var announced []string
	say := func(text string) func() { return func() { announced = append(announced, text) } }
	Override(ctx, "", say("L to S"))
	Override(ctx, "", say("M to S"))
	Override(ctx, "configmaps/a", say("a deleted"))
	Override(ctx, "configmaps/b", say("b deleted"))
	Override(ctx, "configmaps/b", nil)
	if counts := judged.announceOverrides(); !counts || !slices.Equal(announced, []string{"M to S", "a deleted"}) {
		t.Errorf("announced %q, counts %t", announced, counts)
	}
	Override(ctx, "", nil)
	Override(ctx, "configmaps/a", nil)
	announced = nil
	if counts := judged.announceOverrides(); counts || announced != nil {
		t.Errorf("nothing is overridden, but announced %q, counts %t", announced, counts)
	}
}
