package references_test

import (
	"testing"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/references"
)

// Each rule of a built-in kind names a place that its Go type has.
func TestTypes(t *testing.T) {
	t.Parallel()
	for _, kind := range native.Kinds() {
		rules, ok := references.BuiltIn(kind.GroupResource())
		if !ok {
			continue
		}
		if _, err := rules.Typed(kind.Object); err != nil {
			t.Error(err)
		}
	}
}
