//go:build !plain

package documents

import (
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/custom/documents/assembled"
)

// TestChoice checks that the program has the assembled form, unless the build tag plain is set.
func TestChoice(t *testing.T) {
	t.Parallel()
	if _, ok := New(nil, nil, "test").form.(*assembled.Form); !ok {
		t.Error("the v2 document is not assembled from pieces")
	}
}
