package value_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast.dev/holdfast/value"
)

func TestPathText(t *testing.T) {
	port := object{"port": int64(80), "protocol": "TCP", "note": "not a key"}
	path := value.NewPath(
		value.Step{Name: "spec"},
		value.Step{Name: "example.com/a"},
		value.Step{Kind: value.Item, Keys: []string{"port", "protocol", "absent"}, Value: port},
		value.Step{Kind: value.Index, Index: 3},
		value.Step{Kind: value.Member, Value: "x<y"},
		value.Step{Kind: value.Item, Keys: []string{"name"}, Value: object{"name": nil}, Index: 1},
		value.Step{Kind: value.Item, Keys: []string{"name"}, Value: "scalar"},
	)
	for name, test := range map[string]struct {
		notation value.Notation
		path     *value.Path
		want     string
	}{
		"plain": {
			value.Notation{},
			path,
			`spec["example.com/a"][port=80,protocol="TCP"][3][="x\u003cy"][name=null,#2][#1]`,
		},
		"with a leading dot": {
			value.Notation{LeadingDot: true, Values: value.Printer{LiteralHTML: true}},
			path,
			`.spec["example.com/a"][port=80,protocol="TCP"][3][="x<y"][name=null,#2][#1]`,
		},
		"as Kubernetes writes it": {
			value.Notation{Kubernetes: true},
			value.NewPath(path.Steps()[:2]...).Index(3).Child("b"),
			`spec.example.com/a[3].b`,
		},
		"in a definition": {
			value.Notation{},
			(*value.Path)(nil).Child("properties").Key("spec").Child("items"),
			`properties[spec].items`,
		},
		"pattern": {
			value.Notation{},
			value.NewPath(value.Step{Name: "spec"}, value.Step{Kind: value.AnyItem},
				value.Step{Kind: value.AnyName}, value.Step{Name: "*"}),
			`spec[*].*["*"]`,
		},
		"name at the beginning that is no identifier": {value.Notation{LeadingDot: true}, value.NewPath(value.Step{Name: "0"}), `["0"]`},
		"joined": {
			value.Notation{},
			(*value.Path)(nil).Child("a").Join((*value.Path)(nil).Child("b").Index(0)),
			`a.b[0]`,
		},
		"the object itself": {value.Notation{LeadingDot: true}, nil, ""},
		"long name": {
			value.Notation{}, value.NewPath(value.Step{Name: strings.Repeat("k", 1000)}), `["` + strings.Repeat("k", 320) + `…"]`,
		},
		"long value": {
			value.Notation{Values: value.Printer{Limit: 5}},
			value.NewPath(value.Step{Kind: value.Member, Value: "abcdef"}),
			`[="abcd…]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.notation.Path(test.path); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestTextOfLongPathIsCut(t *testing.T) {
	var path *value.Path
	for range 1000 {
		path = path.Child("level")
	}
	text := path.Child("last").String()
	if len(text) > 1200 || !strings.HasPrefix(text, "level.level") || !strings.HasSuffix(text, ".last") || !strings.Contains(text, "…") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if text := (value.Notation{Kubernetes: true}).Path(path); strings.Contains(text, "…") {
		t.Errorf("cut: %s", text)
	}
}

func TestParsePath(t *testing.T) {
	for name, test := range map[string]struct{ text, want, wantErr string }{
		"plain":          {text: `spec.ports[name="http"].port`},
		"leading dot":    {text: ".spec.replicas", want: "spec.replicas"},
		"without quotes": {text: "containers[name=web].image", want: `containers[name="web"].image`},
		"numbers": {
			text: `a[port=80,ratio=1.50][=9007199254740993][=1e400]`, want: `a[port=80,ratio=1.5][=9007199254740993][=1e400]`,
		},
		"true, false and null":     {text: `[a=true,b=false][=null]`},
		"object and list":          {text: `[a={"b": [1]},c=[]]`, want: `[a={"b":[1]},c=[]]`},
		"index":                    {text: `a[3]`},
		"the second of its kind":   {text: `a[name="b",#2].c`},
		"without keys":             {text: `a[#1]`},
		"key that needs quotes":    {text: `a["x=y"=1]`},
		"name that needs quotes":   {text: `a["b.c"]["\x01"]`},
		"asterisk is a name":       {text: `a.*`, want: `a["*"]`},
		"beyond the first plane":   {text: `[="\ud834\udd73"]`},
		"value as Go quotes it":    {text: `[="\x41"]`, want: `[="A"]`},
		"nothing":                  {text: "", want: ""},
		"two dots":                 {text: ".spec..replicas", wantErr: `at "..replicas": a name must follow the dot`},
		"dot at the end":           {text: "a.", wantErr: `at ".": a name must follow the dot`},
		"open bracket":             {text: `a["b"`, wantErr: `at "[\"b\"": the bracket is not closed`},
		"open quote of a name":     {text: `a["b`, wantErr: "the quote is not closed"},
		"open quote of a value":    {text: `a[b="c]`, wantErr: "the quote is not closed"},
		"key without a value":      {text: "a[b=]", wantErr: "a value must follow"},
		"nothing in brackets":      {text: "a[]", wantErr: "an item is named by its keys"},
		"pattern":                  {text: "a[*]", wantErr: "an item is named by its keys"},
		"text after a bracket":     {text: "a[b=1]c", wantErr: "must go on with a dot or a bracket"},
		"number of an item is 0":   {text: "a[#0]", wantErr: "beginning with 1"},
		"broken JSON":              {text: "a[b={]", wantErr: "no JSON"},
		"index beyond all lengths": {text: "a[99999999999999999999]", wantErr: "value out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := value.ParsePath(test.text)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got %v, %v, want the error %q", path, err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				test.want = test.text
			}
			if got := path.String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestParsePattern(t *testing.T) {
	path, err := value.ParsePattern(`spec.containers[*].env.*["a.*"]`)
	if err != nil {
		t.Fatal(err)
	}
	want := value.NewPath(
		value.Step{Name: "spec"}, value.Step{Name: "containers"}, value.Step{Kind: value.AnyItem},
		value.Step{Name: "env"}, value.Step{Kind: value.AnyName}, value.Step{Name: "a.*"})
	if !path.Equal(want) {
		t.Errorf("got %s", path)
	}
}

func TestPathEqual(t *testing.T) {
	item := func(keys []string, v any, index int) *value.Path {
		return value.NewPath(value.Step{Kind: value.Item, Keys: keys, Value: v, Index: index})
	}
	for name, test := range map[string]struct {
		a, b *value.Path
		want bool
	}{
		"nil":           {nil, nil, true},
		"nil and not":   {nil, value.NewPath(value.Step{}), false},
		"names":         {value.NewPath(value.Step{Name: "a"}), value.NewPath(value.Step{Name: "a"}), true},
		"other names":   {value.NewPath(value.Step{Name: "a"}), value.NewPath(value.Step{Name: "b"}), false},
		"longer":        {value.NewPath(value.Step{Name: "a"}), value.NewPath(value.Step{Name: "b"}, value.Step{Name: "a"}), false},
		"other kinds":   {value.NewPath(value.Step{Kind: value.Index}), value.NewPath(value.Step{Kind: value.AnyItem}), false},
		"indexes":       {(*value.Path)(nil).Index(1), (*value.Path)(nil).Index(2), false},
		"keys by value": {item([]string{"k"}, object{"k": int64(1), "x": "a"}, 0), item([]string{"k"}, object{"k": 1.0}, 0), true},
		"keys in other order": {
			item([]string{"k", "l"}, object{"k": "a", "l": "b"}, 0), item([]string{"l", "k"}, object{"k": "a", "l": "b"}, 0), true,
		},
		"more keys":  {item([]string{"k", "l"}, object{"k": "a", "l": "b"}, 0), item([]string{"k"}, object{"k": "a"}, 0), false},
		"the second": {item([]string{"k"}, object{"k": "a"}, 0), item([]string{"k"}, object{"k": "a"}, 1), false},
		"members": {
			value.NewPath(value.Step{Kind: value.Member, Value: 1.0}),
			value.NewPath(value.Step{Kind: value.Member, Value: int64(1)}), true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.a.Equal(test.b) != test.want || test.b.Equal(test.a) != test.want {
				t.Errorf("want %v", test.want)
			}
		})
	}
}

func TestPathsOfGeneratedStepsAreReadBack(t *testing.T) {
	names := []string{"a", "spec", "a.b", "", "*", "0", "ä", "a\x00b", "#1", "=", "[x]", `q"`, "…"}
	for seed := range uint64(5_000) {
		g := generator{rand.New(rand.NewPCG(seed, 5))}
		var path *value.Path
		for range g.IntN(6) {
			name := names[g.IntN(len(names))]
			path = path.Append([]value.Step{
				{Name: name},
				{Kind: value.Index, Index: g.IntN(10)},
				{Kind: value.Member, Value: g.value(2)},
				{Kind: value.Item, Keys: []string{name, "k"}, Value: object{name: g.value(2), "k": g.value(0)}, Index: g.IntN(2)},
				{Kind: value.Item, Keys: []string{name}, Value: g.value(1), Index: g.IntN(2)},
			}[g.IntN(5)])
		}
		if readBack(t, path); t.Failed() {
			t.Fatalf("seed %d: %s", seed, path)
		}
	}
}
