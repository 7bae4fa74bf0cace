package yamltest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"holdfast.dev/holdfast/internal/yamltest"
)

func TestDecode(t *testing.T) {
	named := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}}`
	tests := map[string]struct {
		decode func(testing.TB) any
		want   any
		fails  string
	}{
		"typed":         {decode: func(t testing.TB) any { return yamltest.Decode[corev1.Pod](t, pod) }, want: &named},
		"typed bytes":   {decode: func(t testing.TB) any { return yamltest.Decode[corev1.Pod](t, []byte(pod)) }, want: &named},
		"of a scheme":   {decode: func(t testing.TB) any { return yamltest.Kind(t, scheme.Scheme, pod) }, want: &named},
		"known fields":  {decode: func(t testing.TB) any { return yamltest.Known[metav1.TypeMeta](t, pod) }, want: &named.TypeMeta},
		"a value":       {decode: func(t testing.TB) any { return yamltest.Value(t, `[1, 2.5, x]`) }, want: []any{int64(1), 2.5, "x"}},
		"JSON":          {decode: func(t testing.TB) any { return yamltest.Value(t, `[2.0]`) }, want: []any{2.0}},
		"a map":         {decode: func(t testing.TB) any { return yamltest.Map(t, `a: {b: 1}`) }, want: map[string]any{"a": map[string]any{"b": int64(1)}}},
		"an empty text": {decode: func(t testing.TB) any { return yamltest.Map(t, "") }, want: map[string]any(nil)},
		"an object":     {decode: func(t testing.TB) any { return yamltest.Object(t, pod).GetName() }, want: "a"},
		"unknown field": {
			decode: func(t testing.TB) any { return yamltest.Decode[corev1.Pod](t, `{metadata: {nam: a}}`) },
			fails:  "decode *v1.Pod: error unmarshaling JSON: while decoding JSON: json: unknown field \"nam\" in\n{metadata: {nam: a}}",
		},
		"key twice": {
			decode: func(t testing.TB) any { return yamltest.Map(t, "{a: 1, a: 2}") },
			fails:  "yaml: unmarshal errors:\n  line 1: key \"a\" already set in map in\n{a: 1, a: 2}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			got := r.run(test.decode)
			if r.failure != test.fails {
				t.Fatalf("failed with %q, want %q", r.failure, test.fails)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// recorder is a test that records its failure.
type recorder struct {
	testing.TB
	failure string
}

// run returns the result of a function, nil if it fails.
func (r *recorder) run(decode func(testing.TB) any) (got any) {
	defer func() {
		if recover() != nil && r.failure == "" {
			r.Error("the function panics")
		}
	}()
	return decode(r)
}

// Fatalf ends the function that run calls.
func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	panic(r.failure)
}
