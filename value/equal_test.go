package value_test

import (
	"encoding/json"
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/value"
)

type (
	object = map[string]any
	list   = []any
)

// modes are all modes by their names.
func modes() map[string]value.Mode {
	return map[string]value.Mode{"strict": value.Strict, "built-in": value.BuiltIn, "applied": value.Applied, "served": value.Served}
}

// in names the modes in which two values are equal.
func in(names ...string) sets.Set[string] { return sets.New(names...) }

// TestEqual checks when two values are equal, in every mode. All packages that
// compare objects depend on these results.
func TestEqual(t *testing.T) {
	always, never := in("strict", "built-in", "applied", "served"), in()
	const two53 = 1 << 53
	var none value.Absent
	for name, test := range map[string]struct {
		a, b any
		want sets.Set[string]
	}{
		"integers":                           {int64(1), int64(1), always},
		"other integers":                     {int64(1), int64(2), never},
		"integer and float":                  {int64(1), 1.0, always},
		"integer and its text":               {int64(1), json.Number("1"), always},
		"integer and text with a fraction":   {int64(1), json.Number("1.0"), always},
		"integer and text with an exponent":  {int64(1), json.Number("1e0"), always},
		"integer and long text":              {int64(1200), json.Number("0.00120e+6"), always},
		"integer and close text":             {int64(1), json.Number("1.0000000000000000000001"), never},
		"Go int":                             {1, int64(1), always},
		"Go uint8":                           {uint8(200), 200.0, always},
		"Go float32":                         {float32(0.5), json.Number("0.5"), always},
		"negative zero":                      {int64(0), math.Copysign(0, -1), always},
		"negative zero as text":              {int64(0), json.Number("-0.0e7"), always},
		"fractions":                          {1.5, json.Number("15e-1"), always},
		"other fractions":                    {1.5, 1.25, never},
		"sign":                               {-1.5, 1.5, never},
		"a fraction that no float64 is":      {0.1, json.Number("0.1"), always},
		"one digit more":                     {0.1, json.Number("0.10000000000000000001"), never},
		"floats that differ in the last bit": {0.3, math.Nextafter(0.3, 1), never},

		"2^53+1 and 2^53":                     {int64(two53 + 1), int64(two53), never},
		"2^53+1 and the float 2^53":           {int64(two53 + 1), float64(two53), never},
		"2^53 and the float 2^53":             {int64(two53), float64(two53), always},
		"2^53+1 as text and the float 2^53":   {json.Number("9007199254740993"), float64(two53), never},
		"2^53+1 as text and as integer":       {json.Number("9007199254740993"), int64(two53 + 1), always},
		"2^53+1 as text with an exponent":     {json.Number("9007199254740.993e3"), int64(two53 + 1), always},
		"largest int64 and 2^63":              {int64(math.MaxInt64), float64(1 << 63), never},
		"largest int64 and its text":          {int64(math.MaxInt64), json.Number("9223372036854775807"), always},
		"smallest int64 and float":            {int64(math.MinInt64), -float64(1 << 63), always},
		"smallest int64 and text one smaller": {int64(math.MinInt64), json.Number("-9223372036854775809"), never},
		"uint64 2^63 and float":               {uint64(1 << 63), float64(1 << 63), always},
		"uint64 2^63 and text":                {uint64(1 << 63), json.Number("9223372036854775808"), always},
		"largest uint64 and the next float":   {uint64(math.MaxUint64), float64(math.MaxUint64), never},
		"2^64 as text and float":              {json.Number("18446744073709551616"), float64(1 << 64), always},
		"2^64+1 as text and the float 2^64":   {json.Number("18446744073709551617"), float64(1 << 64), never},
		"2^64+1 and 2^64 as texts":            {json.Number("18446744073709551617"), json.Number("18446744073709551616"), never},
		"large floats":                        {1e300, 1e300, always},
		"other large floats":                  {1e300, 1e301, never},
		"large text, spelled otherwise":       {json.Number("1e300"), json.Number("10.00E+299"), always},
		"text beyond every float":             {json.Number("1e999999"), json.Number("10e999998"), always},
		"small text":                          {json.Number("1e-999999"), int64(0), never},
		"infinite":                            {math.Inf(1), math.Inf(-1), never},
		"infinite and large":                  {math.Inf(1), json.Number("1e999999"), never},
		"NaN equals itself":                   {math.NaN(), math.NaN(), always},
		"text that is no number":              {json.Number("x"), json.Number("x"), always},
		"text that is no number, and string":  {json.Number("x"), "x", never},

		"strings":                {"a", "a", always},
		"other strings":          {"a", "b", never},
		"string and number":      {"1", int64(1), never},
		"string and its text":    {"1", json.Number("1"), never},
		"zero and false":         {int64(0), false, never},
		"one and true":           {1.0, true, never},
		"true and false":         {true, false, never},
		"true":                   {true, true, always},
		"empty string and false": {"", false, never},

		"absent":                         {none, none, always},
		"null":                           {nil, nil, always},
		"null and absent":                {nil, none, in("built-in", "applied", "served")},
		"empty object and absent":        {object{}, none, in("built-in")},
		"empty list and absent":          {list{}, none, in("built-in", "served")},
		"empty object and null":          {object{}, nil, in("built-in")},
		"empty list and null":            {list{}, nil, in("built-in", "served")},
		"empty object and empty list":    {object{}, list{}, in("built-in")},
		"empty string and absent":        {"", none, never},
		"zero and absent":                {int64(0), none, never},
		"false and null":                 {false, nil, never},
		"object of null and empty":       {object{"a": nil}, object{}, in("built-in", "applied", "served")},
		"object of empties and absent":   {object{"a": list{}, "b": object{"c": nil}}, none, in("built-in")},
		"object of empties and empty":    {object{"a": object{}}, object{}, in("built-in")},
		"object of a zero and absent":    {object{"a": int64(0)}, none, never},
		"list of null and empty":         {list{nil}, list{}, never},
		"list of null and of absent key": {list{object{"a": nil}}, list{object{}}, in("built-in", "applied", "served")},

		"objects":                 {object{"a": int64(1), "b": "x"}, object{"b": "x", "a": 1.0}, always},
		"object with another key": {object{"a": int64(1)}, object{"b": int64(1)}, never},
		"object with one more":    {object{"a": int64(1)}, object{"a": int64(1), "b": int64(1)}, never},
		"null under another key":  {object{"a": int64(1), "b": nil}, object{"a": int64(1), "c": nil}, in("built-in", "applied", "served")},
		"nested":                  {object{"a": list{object{"b": 1.0}}}, object{"a": list{object{"b": int64(1)}}}, always},
		"lists":                   {list{int64(1), "a"}, list{1.0, "a"}, always},
		"lists in another order":  {list{int64(1), int64(2)}, list{int64(2), int64(1)}, never},
		"list and longer list":    {list{int64(1)}, list{int64(1), int64(1)}, never},
		"list and object":         {list{"a"}, object{"a": "a"}, never},
		"object and scalar":       {object{"a": "a"}, "a", never},
	} {
		t.Run(name, func(t *testing.T) {
			for modeName, mode := range modes() {
				want := test.want.Has(modeName)
				if got := mode.Equal(test.a, test.b); got != want {
					t.Errorf("%s: Equal(%v, %v) is %v, want %v", modeName, test.a, test.b, got, want)
				}
				checkLaws(t, mode, test.a, test.b)
			}
		})
	}
}

func TestIdentical(t *testing.T) {
	t.Parallel()
	list, obj := []any{int64(1)}, map[string]any{"a": nil}
	tests := map[string]struct {
		a, b any
		want bool
	}{
		"scalars":              {int64(1), int64(1), true},
		"numbers of two types": {int64(1), float64(1), false},
		"null and absent":      {map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		"null and null":        {obj, map[string]any{"a": nil}, true},
		"more fields":          {obj, map[string]any{"a": nil, "b": nil}, false},
		"the same list":        {list, list, true},
		"an equal list":        {list, []any{int64(1)}, true},
		"another order":        {[]any{"a", "b"}, []any{"b", "a"}, false},
		"a list and an object": {[]any{}, map[string]any{}, false},
		"empty and nil":        {[]any{}, []any(nil), false},
		"text and a number":    {"1", int64(1), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := value.Identical(test.a, test.b); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
