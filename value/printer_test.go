package value_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"holdfast.dev/holdfast/value"
)

func TestPrint(t *testing.T) {
	for name, test := range map[string]struct {
		printer value.Printer
		v       any
		want    string
	}{
		"absent":              {value.Printer{}, value.Absent{}, "<none>"},
		"null":                {value.Printer{}, nil, "null"},
		"object":              {value.Printer{}, object{"b": list{int64(1), true, nil}, "a": "x"}, `{"a":"x","b":[1,true,null]}`},
		"empty":               {value.Printer{}, list{object{}, list{}}, `[{},[]]`},
		"float":               {value.Printer{}, 1.5, "1.5"},
		"float of an integer": {value.Printer{}, 1.0, "1"},
		"large float":         {value.Printer{}, 1e21, "1e+21"},
		"float beyond 2^53":   {value.Printer{}, float64(1 << 62), "4611686018427387904"},
		"number as text":      {value.Printer{}, json.Number("9007199254740993.0"), "9007199254740993.0"},
		"Go int":              {value.Printer{}, 7, "7"},
		"no JSON":             {value.Printer{}, math.NaN(), "?"},
		"HTML":                {value.Printer{}, "a<b>&c", `"a\u003cb\u003e\u0026c"`},
		"HTML as it is":       {value.Printer{LiteralHTML: true}, "a<b>&c", `"a<b>&c"`},
		"escapes":             {value.Printer{}, "\"\\\n\t\r\x07\u0085\u202e\U0001d173", `"\"\\\n\t\r\u0007\u0085\u202e\ud834\udd73"`},
		"default limit":       {value.Printer{}, strings.Repeat("x", 100), `"` + strings.Repeat("x", 79) + "…"},
		"limit":               {value.Printer{Limit: 64}, strings.Repeat("é", 70), `"` + strings.Repeat("é", 63) + "…"},
		"at the limit":        {value.Printer{Limit: 6}, "abcd", `"abcd"`},
		"long list":           {value.Printer{Limit: 8}, make(list, 100_000), "[null,nu…"},
		"long object":         {value.Printer{Limit: 8}, object{"a": int64(1), "b": int64(2)}, `{"a":1,"…`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.printer.Print(test.v); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc": "abc", "abcd": "abc…", "äöü": "äöü", "äöüß": "äöü…", "ab\xffd": "ab…",
	} {
		if got := value.Cut(text, 3); got != want {
			t.Errorf("Cut(%q) is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc…", "äö": "ä…"} {
		if got := value.CutBytes(text, 3); got != want {
			t.Errorf("CutBytes(%q) is %q, want %q", text, got, want)
		}
	}
}
