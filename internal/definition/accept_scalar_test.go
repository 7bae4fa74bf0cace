package definition_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/definition"
)

// FuzzScalar checks that a schema accepts the scalars that upstream's validator accepts, and no others.
func FuzzScalar(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, "duration", "^[a-z]*$", "1h")
	}
	f.Add(uint64(1), "date-time", "(", "2026-01-02T03:04:05Z")
	f.Fuzz(func(t *testing.T, seed uint64, format, pattern, text string) {
		g := rand.New(rand.NewPCG(seed, 93))
		numbers := []float64{0, 1, -1, 1.5, -2.5, 3, 1 << 53, 1<<53 + 2, math.MaxInt64, -1 << 63, 1e300}
		number := func() float64 { return numbers[g.IntN(len(numbers))] }
		values := []any{
			text, "", "é", "abc", true, int64(number()), int64(g.IntN(5)), number(), int64(math.MaxInt64), int64(math.MinInt64),
			int64(1<<53 + 1), nil,
		}
		maybe := func(set func()) {
			if g.IntN(3) == 0 {
				set()
			}
		}
		s := &spec.Schema{}
		s.Type = [][]string{nil, {"string"}, {"integer"}, {"number"}, {"boolean"}, {"integer", "string"}}[g.IntN(6)]
		maybe(func() { s.Format = []string{format, "int32", "int64", "float", "double", "email"}[g.IntN(6)] })
		maybe(func() { s.Pattern = pattern })
		maybe(func() { s.MinLength = new(int64(g.IntN(3))) })
		maybe(func() { s.MaxLength = new(int64(g.IntN(4))) })
		maybe(func() { s.Minimum, s.ExclusiveMinimum = new(number()), g.IntN(3) == 0 })
		maybe(func() { s.Maximum, s.ExclusiveMaximum = new(number()), g.IntN(3) == 0 })
		maybe(func() { s.Enum = []any{values[g.IntN(len(values))], values[g.IntN(len(values))]} })
		for _, v := range values {
			if got, want := definition.AcceptsScalar(s, v); got && !want {
				t.Errorf("%#v is accepted: %#v", v, s.SchemaProps)
			}
		}
	})
}
