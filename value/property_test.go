package value_test

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"holdfast.dev/holdfast/value"
)

// checkLaws asserts the laws for two values: equality and order are symmetric and
// agree with each other, and two values have the same hash exactly if they are
// equal.
func checkLaws(t *testing.T, mode value.Mode, a, b any) {
	t.Helper()
	c := value.NewComparison(mode)
	equal := mode.Equal(a, b)
	if mode.Equal(b, a) != equal {
		t.Errorf("mode %d: Equal(%#v, %#v) is %v, but not with the sides exchanged", mode, a, b, equal)
	}
	if !mode.Equal(a, a) {
		t.Errorf("mode %d: %#v is not equal to itself", mode, a)
	}
	if c.Equal(nil, a, b) != equal {
		t.Errorf("mode %d: a comparison says otherwise about %#v and %#v", mode, a, b)
	}
	if equal && c.Hash(nil, a) != c.Hash(nil, b) {
		t.Errorf("mode %d: %#v and %#v are equal, their hashes are not", mode, a, b)
	}
	if !equal && c.Hash(nil, a) == c.Hash(nil, b) && !isInvalidNumber(a) && !isInvalidNumber(b) {
		t.Errorf("mode %d: %#v and %#v are not equal, but their hashes are", mode, a, b)
	}
	order := mode.Compare(a, b)
	if order != -mode.Compare(b, a) {
		t.Errorf("mode %d: Compare(%#v, %#v) is %d, and with the sides exchanged %d", mode, a, b, order, mode.Compare(b, a))
	}
	if (order == 0) != equal && !isInvalidNumber(a) && !isInvalidNumber(b) {
		t.Errorf("mode %d: Compare(%#v, %#v) is %d, Equal is %v", mode, a, b, order, equal)
	}
	if mode.IsAbsent(a) != mode.Equal(a, value.Absent{}) {
		t.Errorf("mode %d: IsAbsent(%#v) is %v", mode, a, mode.IsAbsent(a))
	}
	if equal && mode != value.Strict && mode.IsAbsent(a) != mode.IsAbsent(b) {
		t.Errorf("mode %d: only one of %#v and %#v is absent", mode, a, b)
	}
}

// isInvalidNumber reports whether a value is a json.Number that JSON does not
// accept. Such values have no order, and hash as their text.
func isInvalidNumber(v any) bool {
	text, ok := v.(json.Number)
	return ok && !json.Valid([]byte(text))
}

type generator struct{ *rand.Rand }

// number returns one of few numbers, in one of many types and spellings.
func (g generator) number() any {
	exact := []*big.Int{
		big.NewInt(0), big.NewInt(1), big.NewInt(-1), big.NewInt(1 << 53), big.NewInt(1<<53 + 1),
		big.NewInt(math.MaxInt64), big.NewInt(math.MinInt64),
		new(big.Int).Lsh(big.NewInt(1), 63), new(big.Int).Lsh(big.NewInt(1), 64),
		new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(1)),
	}[g.IntN(10)]
	switch g.IntN(6) {
	case 0:
		if exact.IsInt64() {
			return exact.Int64()
		}
	case 1:
		if exact.IsUint64() {
			return exact.Uint64()
		}
	case 2:
		return json.Number(exact.String() + ".00")
	case 3:
		return json.Number(new(big.Int).Mul(exact, big.NewInt(10)).String() + "E-1")
	case 4:
		return []any{0.1, json.Number("0.1"), json.Number("1e-1"), 1.5, json.Number("0.15e1"), float32(1.5)}[g.IntN(6)]
	}
	f, _ := new(big.Float).SetInt(exact).Float64()
	return f
}

// value returns a small value; few names and scalars make equal values frequent.
func (g generator) value(depth int) any {
	switch kind := g.IntN(8); {
	case kind < 2 && depth > 0:
		out := object{}
		for range g.IntN(3) {
			out[string(rune('a'+g.IntN(2)))] = g.value(depth - 1)
		}
		return out
	case kind < 4 && depth > 0:
		out := list{}
		for range g.IntN(3) {
			out = append(out, g.value(depth-1))
		}
		return out
	case kind < 6:
		return g.number()
	}
	return []any{nil, "", "a", true, false, object{}, list{}}[g.IntN(7)]
}

func TestLawsOnGeneratedValues(t *testing.T) {
	equal := 0
	for seed := range uint64(20_000) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		a, b := g.value(3), g.value(3)
		for _, mode := range modes() {
			checkLaws(t, mode, a, b)
			if mode.Equal(a, b) {
				equal++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if equal < 1000 {
		t.Errorf("only %d pairs are equal: the generator does not reach the rules", equal)
	}
}

// The order is transitive: in a sorted list, no value is greater than any later
// value.
func TestOrderOfGeneratedValues(t *testing.T) {
	for seed := range uint64(50) {
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		for name, mode := range modes() {
			values := make([]any, 60)
			for i := range values {
				values[i] = g.value(2)
			}
			slices.SortFunc(values, mode.Compare)
			for i := range values {
				for j := i + 1; j < len(values); j++ {
					if mode.Compare(values[i], values[j]) > 0 {
						t.Fatalf("%s: %#v is sorted before %#v", name, values[i], values[j])
					}
				}
			}
		}
	}
}

// Compare orders numbers like big.Rat, which computes exactly.
func TestNumbersAgreeWithRationals(t *testing.T) {
	for seed := range uint64(20_000) {
		g := generator{rand.New(rand.NewPCG(seed, 4))}
		a, b := g.number(), g.number()
		if got, want := value.Strict.Compare(a, b), rational(t, a).Cmp(rational(t, b)); got != want {
			t.Fatalf("Compare(%#v, %#v) is %d, want %d", a, b, got, want)
		}
	}
}

func rational(t *testing.T, v any) *big.Rat {
	t.Helper()
	out := new(big.Rat)
	text := ""
	switch v := v.(type) {
	case int64:
		return out.SetInt64(v)
	case uint64:
		return out.SetUint64(v)
	case json.Number:
		text = string(v)
	case float32:
		return out.SetFloat64(float64(v))
	case float64:
		if v == math.Trunc(v) {
			return out.SetFloat64(v)
		}
		text = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if _, ok := out.SetString(text); !ok {
		t.Fatalf("%#v is no number", v)
	}
	return out
}
