package value_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// FuzzEqual decodes two texts in two ways, with numbers as float64 and as
// json.Number, and asserts the laws of equality for all four values.
func FuzzEqual(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a":[1,2.0,null]}`, `{"a":[1.0,2,null]}`}, {`{"a":null}`, `{}`}, {`[]`, `{}`}, {`9007199254740993`, `9007199254740992.0`},
		{`1e400`, `10e399`}, {`-0`, `0.0e-9`}, {`"1"`, `1`}, {`0.1`, `1e-1`}, {`1e-999999999999999999999`, `0`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		var values []any
		for _, text := range []string{first, second} {
			var v, exact any
			if utiljson.Unmarshal([]byte(text), &v) == nil {
				values = append(values, v)
			}
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			if decoder.Decode(&exact) == nil {
				values = append(values, exact)
			}
		}
		for _, a := range values {
			for _, b := range values {
				for _, mode := range modes() {
					lawsHold(t, mode, a, b)
				}
			}
		}
	})
}

// lawsHold asserts the laws of checkLaws that also hold for numbers with an exponent
// of more than 18 digits. Such numbers have no order: Compare may return 0 although
// they differ.
func lawsHold(t *testing.T, mode value.Mode, a, b any) {
	t.Helper()
	equal := mode.Equal(a, b)
	c := value.NewComparison(mode)
	if mode.Equal(b, a) != equal || !mode.Equal(a, a) {
		t.Errorf("mode %d: Equal(%#v, %#v) is %v, and with the sides exchanged %v", mode, a, b, equal, mode.Equal(b, a))
	}
	if equal && c.Hash(nil, a) != c.Hash(nil, b) {
		t.Errorf("mode %d: %#v and %#v are equal, their hashes are not", mode, a, b)
	}
	if equal && mode.Compare(a, b) != 0 || mode.Compare(a, b) != -mode.Compare(b, a) {
		t.Errorf("mode %d: Compare(%#v, %#v) is %d, Equal is %v", mode, a, b, mode.Compare(a, b), equal)
	}
}

// FuzzPath writes a path and reads it back, and reads any text and writes it.
func FuzzPath(f *testing.F) {
	for _, text := range []string{
		`.a.b[c="d",e=1].f["g h"][=true]`, "a", "[", `.a["\x00"]`, "[=1]", `a[0].b[#2][k=1.5,"x=y"=null,#3]`,
		`[="\ud834\udd73"]`, `[={"a":[1,"x<y"]}]`, `a.*[*]`, `[k=1e400]`, `["…"]`,
	} {
		f.Add(text, "na.me", `{"a":["<\u0007>",1e21]}`, 3)
	}
	f.Fuzz(func(t *testing.T, text, name, document string, number int) {
		if path, err := value.ParsePath(text); err == nil {
			readBack(t, path)
		}
		if pattern, err := value.ParsePattern(text); err == nil {
			if again, err := value.ParsePattern(pattern.String()); !isCut(pattern.String()) && (err != nil || !pattern.Equal(again)) {
				t.Errorf("pattern %q is read as %v, %v", pattern, again, err)
			}
		}
		var v any
		if utiljson.Unmarshal([]byte(document), &v) != nil || number < 0 {
			return
		}
		readBack(t, value.NewPath(
			value.Step{Name: name},
			value.Step{Kind: value.Index, Index: number},
			value.Step{Kind: value.Member, Value: v},
			value.Step{Kind: value.Item, Keys: []string{"a", name}, Value: object{"a": v, name: name, "rest": v}, Index: number % 3},
			value.Step{Kind: value.Item, Keys: []string{name}, Value: v, Index: number % 3},
		))
	})
}

// isCut reports whether something was left out of the text of a path.
func isCut(text string) bool { return strings.Contains(text, "…") }

// readBack asserts that the text of a path, in every notation that can be read,
// is read as the same path.
func readBack(t *testing.T, path *value.Path) {
	t.Helper()
	for _, notation := range []value.Notation{
		{},
		{LeadingDot: true, Values: value.Printer{Limit: 64, LiteralHTML: true}},
	} {
		text := notation.Path(path)
		if isCut(text) || !utf8.ValidString(text) {
			continue
		}
		again, err := value.ParsePath(text)
		if err != nil {
			t.Fatalf("%q cannot be read: %v", text, err)
		}
		if !path.Equal(again) && !strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("%q is read as %q", text, again)
		}
	}
}
