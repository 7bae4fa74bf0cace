package text_test

import (
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

func TestSame(t *testing.T) {
	t.Parallel()
	spec := func(v any) map[string]any { return map[string]any{"spec": map[string]any{"a": v, "b": "c"}} }
	for name, test := range map[string]struct {
		a, b any
		want bool
	}{
		"equal":                 {int64(1), int64(1), true},
		"integer and float":     {int64(1), 1.0, true},
		"two integers":          {int64(1), int64(2), false},
		"text and number":       {"1", int64(1), false},
		"nothing and no object": {nil, map[string]any{}, false},
		"no text":               {func() {}, func() {}, false},
	} {
		if got := text.Same(spec(test.a), spec(test.b)); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
