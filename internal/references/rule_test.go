package references_test

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/value"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const object = `
spec:
  one: first
  list: [second, {name: third, namespace: other}, {name: fourth, kind: Secret}, {name: fifth, kind: Widget}, 6, null]
  map: {k1: {ref: sixth}, k2: {ref: seventh}}
  qualified: ns/eighth
  pattern: pvc-${id}
  ref: {name: ninth, namespace: far}
  template: {spec: {imagePullSecrets: [{name: tenth}]}}
  texts: {eleventh: [twelfth, "not a name", {thirteenth: 13}]}
`
	for name, test := range map[string]struct {
		rules string
		want  []string
	}{
		"name":          {"Secret spec.one", []string{"Secret first spec.one"}},
		"kind by field": {"ConfigMap spec.list[*]", []string{"ConfigMap second spec.list[0]", "ConfigMap other/third spec.list[1].name"}},
		"values of a map": {
			"Secret spec.map.*.ref", []string{"Secret sixth spec.map.k1.ref", "Secret seventh spec.map.k2.ref"},
		},
		"every field of an object":    {"Secret *.one", []string{"Secret first spec.one"}},
		"namespace and name":          {"Secret spec.qualified /", []string{"Secret ns/eighth spec.qualified"}},
		"name without a namespace":    {"Secret spec.one /", []string{"Secret first spec.one"}},
		"slash without such a rule":   {"Secret spec.qualified", nil},
		"place of the namespace":      {"Secret spec.ref.name spec.ref.namespace", []string{"Secret far/ninth spec.ref.name"}},
		"the namespace is ignored":    {"Secret spec.ref.name", []string{"Secret ninth spec.ref.name"}},
		"placeholder":                 {"Secret spec.pattern", []string{"Secret pvc-${id} spec.pattern"}},
		"template":                    {"PodTemplate spec.template", []string{"Secret tenth spec.template.spec.imagePullSecrets[0].name"}},
		"spec of a pod":               {"PodSpec spec.template.spec", []string{"Secret tenth spec.template.spec.imagePullSecrets[0].name"}},
		"comments and empty lines":    {"# Secrets\n\n  Secret   spec.one  \n", []string{"Secret first spec.one"}},
		"the same rule twice":         {"Secret spec.one\nSecret spec.one", []string{"Secret first spec.one"}},
		"two kinds in one place":      {"Secret spec.one\nConfigMap spec.one", []string{"Secret first spec.one", "ConfigMap first spec.one"}},
		"place that is not there":     {"Secret spec.gone\nSecret gone.one\nSecret spec.one[*]\nSecret spec.list.*\nSecret spec.one.two", nil},
		"no rules":                    {"", nil},
		"namespace that is not there": {"Secret spec.one spec.gone", []string{"Secret first spec.one"}},
		"strings": {"Strings spec.texts", []string{
			"ConfigMap or Secret eleventh spec.texts.eleventh",
			"ConfigMap or Secret twelfth spec.texts.eleventh[0]",
			"ConfigMap or Secret thirteenth spec.texts.eleventh[2].thirteenth",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, err := references.Parse(test.rules)
			if err != nil {
				t.Fatal(err)
			}
			decoded := yamltest.Map(t, object)
			found := rules.Find(decoded)
			if diff := cmp.Diff(test.want, texts(found)); diff != "" {
				t.Error(diff)
			}
			checkVisit(t, rules, decoded)
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"Secret":                              `line 1: "Secret" is not a kind and a path, as in "Secret spec.tls.secretName"`,
		"# one\n\nSecret a b c":               `line 3: "Secret a b c" is not a kind and a path, as in "Secret spec.tls.secretName"`,
		"Pod spec":                            `line 1: "Pod" is not one of ConfigMap, Secret, PodTemplate, PodSpec, Strings`,
		"secret spec":                         `line 1: "secret" is not one of ConfigMap, Secret, PodTemplate, PodSpec, Strings`,
		"Secret spec.":                        `line 1: spec.: at ".": a name must follow the dot`,
		"Secret spec[0].name":                 "line 1: spec[0].name: the place of an item in a list must be [*]",
		"Secret spec[name=web]":               "line 1: spec[name=web]: the place of an item in a list must be [*]",
		"Secret a.b a.c[0]":                   "line 1: a.c[0]: the place of an item in a list must be [*]",
		"Secret a.b a..":                      `line 1: a..: at "..": a name must follow the dot`,
		"Secret a.b c.d":                      "line 1: the name and the namespace must be fields of the same object",
		"Secret a.b a.*":                      "line 1: the name and the namespace must be fields of the same object",
		"Secret a[*] a.b":                     "line 1: the name and the namespace must be fields of the same object",
		"PodTemplate a.b a.c":                 "line 1: PodTemplate has no namespace",
		"Strings a /":                         "line 1: Strings has no namespace",
		"Secret a\n PodTemplate  *":           "line 2: PodTemplate * stands for the templates of pods that the schema describes, and there is none: name the places instead",
		strings.Repeat("Secret a\n", 257):     "line 257: more than 256 rules",
		"Secret " + strings.Repeat("a", 1025): "line 1: " + strings.Repeat("a", 80) + "…: longer than 1024 bytes",
	} {
		if _, err := references.Parse(rules); err == nil || err.Error() != want {
			t.Errorf("%.80q: error %v, want %s", rules, err, want)
		}
	}
}

// The line for all templates is replaced by the places that are found, which are looked for only if there is such a line.
func TestExpand(t *testing.T) {
	t.Parallel()
	places := []*value.Path{nil, value.NewPath(value.Step{Kind: value.Name, Name: "spec"}).Child("a.b").Append(value.Step{Kind: value.AnyItem})}
	for text, want := range map[string]string{
		"Secret spec.a\n  PodTemplate   * \n# end":      "Secret spec.a\nPodSpec spec\nPodSpec spec[\"a.b\"][*].spec\n# end",
		"PodTemplate spec.*\nSecret *\n# PodTemplate *": "PodTemplate spec.*\nSecret *\n# PodTemplate *",
		"": "",
	} {
		got := references.Expand(text, func() []*value.Path {
			if text == want {
				t.Errorf("%q: it looks for templates", text)
			}
			return places
		})
		if got != want {
			t.Errorf("%q is expanded to %q, want %q", text, got, want)
		}
		if _, err := references.Parse(got); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
	if got := references.Expand("PodTemplate *", func() []*value.Path { return nil }); got != "PodTemplate *" {
		t.Errorf("without a template: %q", got)
	}
}

// checkVisit fails if Visit finds other references in a text than Find in the decoded object.
func checkVisit(t *testing.T, rules *references.Rules, object map[string]any) {
	t.Helper()
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, one := range rules.Find(object) {
		want = append(want, text(one.Kind, one.Namespace, one.Name))
	}
	if err := rules.Visit(encoded, func(kind references.Kind, namespace, name string) { got = append(got, text(kind, namespace, name)) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s\n-Find +Visit\n%s", encoded, cmp.Diff(want, got))
	}
}

// In an object about which nothing is known, keys and values count, however they are encoded.
func TestStrings(t *testing.T) {
	t.Parallel()
	const object = `{"kind":"Widget","spec":{"key":"settings","escaped":"s\u0065ttings-2","quote":"a\"b","slash":"\\","number":5,"t":true,
		"list":["db","",["in.ner"],"UPPER"],"settings-3":null}}`
	var got []string
	visit := func(_ references.Kind, _, name string) { got = append(got, name) }
	if err := references.Everything().Visit([]byte(object), visit); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("kind spec key settings escaped settings-2 quote slash number t list db in.ner settings-3")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	checkVisit(t, references.Everything(), yamltest.Map(t, object))
}

// A text that is no JSON has no references, and an error says so if the rules need it decoded.
func TestDamagedText(t *testing.T) {
	t.Parallel()
	rules, err := references.Parse("Secret spec.one")
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Visit([]byte(`{"spec":`), nil); err == nil {
		t.Error("no error")
	}
	if err := references.Everything().Visit([]byte(`{"Spec":"ab`), func(_ references.Kind, _, name string) { t.Error(name) }); err != nil {
		t.Error(err)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for pattern, test := range map[string]struct{ yes, no string }{
		"plain":          {"plain", "plain2 xplain"},
		"${pvc.name}":    {"anything", ""},
		"a-${pvc.name}":  {"a- a-b", "a b-a"},
		"${a}-key":       {"-key b-key -key-key", "key b-key2"},
		"a${x}b${y}c":    {"abc aXbYc abbcc", "ab ac abX"},
		"${a}${b}":       {"anything", ""},
		"${a}b${c}b":     {"bb xbxb bbb", "b xb"},
		"x${not closed":  {"x xyz", "yx"},
		"${a}x}":         {"x} yx}", "x"},
		"a-${b}-${c}-a":  {"a---a a-1-2-a", "a-a a--a"},
		"ab${x}ba":       {"abba ab-ba", "aba"},
		"${a['k.io/v']}": {"anything", ""},
	} {
		reference := references.Reference{Name: pattern}
		for _, name := range strings.Fields(test.yes) {
			if !reference.Matches("", name) {
				t.Errorf("%s does not match %s", pattern, name)
			}
		}
		for _, name := range strings.Fields(test.no) {
			if reference.Matches("", name) {
				t.Errorf("%s matches %s", pattern, name)
			}
		}
		if reference.IsPattern() != strings.Contains(pattern, "${") {
			t.Errorf("%s: IsPattern is wrong", pattern)
		}
	}
	if (references.Reference{Namespace: "a-${b}", Name: "x"}).Matches("b", "x") || !(references.Reference{Namespace: "${b}"}).IsPattern() {
		t.Error("the namespace does not count")
	}
}

// Patterns match as regular expressions do.
func TestMatchesRandom(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var pattern, expression, name strings.Builder
		for range random.IntN(6) {
			if part := string("ab"[random.IntN(2)]); random.IntN(2) == 0 {
				pattern.WriteString("${" + part + "}")
				expression.WriteString(".*")
			} else {
				pattern.WriteString(part)
				expression.WriteString(part)
			}
		}
		for range random.IntN(6) {
			name.WriteByte("ab"[random.IntN(2)])
		}
		want := regexp.MustCompile("^" + expression.String() + "$").MatchString(name.String())
		if got := (references.Reference{Name: pattern.String()}).Matches("", name.String()); got != want {
			t.Fatalf("%s and %s: %v", pattern.String(), name.String(), got)
		}
	}
}

// A pattern with many placeholders takes no longer than one with few. If Matches tried all places, this test would not end.
func TestHostilePattern(t *testing.T) {
	t.Parallel()
	reference := references.Reference{Name: strings.Repeat("${a}a", 10000) + "b"}
	if reference.Matches("", strings.Repeat("a", 253)) {
		t.Error("it matches")
	}
	reference.Name = strings.Repeat("${a}a${b}", 120) + "b"
	if reference.Matches("", strings.Repeat("a", 253)) {
		t.Error("it matches")
	}
}

func TestMayBeName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "a-1.b", strings.Repeat("x", 253)} {
		if !references.MayBeName(name) {
			t.Errorf("%s is a name", name)
		}
	}
	for _, text := range []string{"", "A", "a b", "a/b", "ä", "a_b", strings.Repeat("x", 254)} {
		if references.MayBeName(text) {
			t.Errorf("%s is no name", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"Secret spec.one", "ConfigMap a[*].b.*", "PodTemplate spec.template\nPodSpec x", "Strings .", "Secret a.b a.c", "Secret a /", `Secret a["b/c"]`,
		"Secret  a", "Secret [", "# x", "Secret a[0]", "Secret * *", "Secret a .",
	} {
		f.Add(seed, `{"a":{"b":"name","c":"ns"},"spec":{"one":"x","template":{"spec":{"imagePullSecrets":[{"name":"p"}]}}}}`)
	}
	f.Fuzz(func(t *testing.T, text, object string) {
		rules, err := references.Parse(text)
		if err != nil {
			if message := err.Error(); !strings.HasPrefix(message, "line ") || len(message) > 8<<10 {
				t.Errorf("error %s", message)
			}
			return
		}
		var decoded map[string]any
		if json.Unmarshal([]byte(object), &decoded) == nil {
			checkVisit(t, rules, decoded)
		}
	})
}

func FuzzVisit(f *testing.F) {
	for _, seed := range []string{
		`{"a":"b","c":{"d":["e",1,null,true,"f"]}}`, `{"a":"\u0061\"\\","":"x"}`, `{"a":"a","a":"b"}`, `["a"]`, `{"a":"` + "\xff" + `"}`, `{"a"`, `"\`,
		`{"spec":{"template":{"spec":{"volumes":[{"configMap":{"name":"a"}},{"secret":{"secretName":"b"}}]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	declared, err := references.Parse("PodTemplate spec.template\nStrings *\nSecret a.b a.c\nConfigMap c.d[*]\nSecret *.d[*] /")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		// Any bytes: it ends, and what it finds may be a name.
		visited := map[string]bool{}
		if err := references.Everything().Visit(encoded, func(kind references.Kind, namespace, name string) {
			if kind != references.Either || namespace != "" || !references.MayBeName(name) {
				t.Errorf("found %v %q %q", kind, namespace, name)
			}
			visited[name] = true
		}); err != nil {
			t.Error(err)
		}
		var decoded map[string]any
		if json.Unmarshal(encoded, &decoded) != nil {
			return
		}
		// If a key occurs twice, Visit finds the strings of both values.
		for _, one := range references.Everything().Find(decoded) {
			if !visited[one.Name] {
				t.Errorf("Visit did not find %q", one.Name)
			}
		}
		checkVisit(t, references.Everything(), decoded)
		checkVisit(t, declared, decoded)
	})
}
