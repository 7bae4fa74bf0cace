package served

import (
	"testing"

	"holdfast.dev/holdfast/internal/definition"
)

// TestRetire checks that a retired resource ends its watches while requests use it, and not before.
func TestRetire(t *testing.T) {
	t.Parallel()
	r := New(&Config{}, &definition.CustomResourceDefinition{})
	r.Acquire()
	if r.watches.Err() != nil || !r.IsInUse() || r.WasUsed() {
		t.Error("a resource in use has ended its watches, or does not know that it is used")
	}
	r.Retire()
	<-r.watches.Done()
	if r.Release(); r.IsInUse() || !r.WasUsed() {
		t.Error("a resource without a request is still in use")
	}
}
