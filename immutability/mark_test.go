package immutability_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

func TestMarks(t *testing.T) {
	v1 := schemaOf(t, `properties: {
		spec: {properties: {
			size: {x-kubernetes-immutable: true},
			"a.b c": {x-kubernetes-immutable: true},
			labels: {additionalProperties: {x-kubernetes-immutable: true}, x-kubernetes-addition-only: true},
			ports: {type: array, items: {properties: {"*": {x-kubernetes-immutable: true}}}},
			old: {x-kubernetes-immutable: true}}}}`)
	v2 := schemaOf(t, `properties: {
		spec: {properties: {
			size: {x-kubernetes-immutable: true},
			labels: {additionalProperties: {}, x-kubernetes-deletion-only: true},
			new: {type: array, x-kubernetes-list-type: set, x-kubernetes-deletion-only: true}}}}`)
	marks, err := immutability.Marks([]immutability.Version{{Name: "v1", Schema: v1}, {Name: "v2", Schema: v2}})
	if err != nil {
		t.Fatal(err)
	}
	want := `immutable spec["a.b c"]
v1: addition-only spec.labels
v2: deletion-only spec.labels
v1: immutable spec.labels.*
deletion-only spec.new
immutable spec.old
immutable spec.ports[*]["*"]
immutable spec.size
`
	text := immutability.FormatMarks(marks)
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("annotation (-want +got):\n%s", diff)
	}
	read, err := immutability.ParseMarks("# a comment\n\n" + text)
	if err != nil || immutability.FormatMarks(read) != text {
		t.Errorf("read back: %v\n%s", err, immutability.FormatMarks(read))
	}
}

func TestMarksThatCannotBeWritten(t *testing.T) {
	for _, text := range []string{
		`properties: {a: {patternProperties: {"^x": {x-kubernetes-immutable: true}}}}`,
		`properties: {a: {items: [{x-kubernetes-immutable: true}]}}`,
		`properties: {a: {items: [{}], additionalItems: {x-kubernetes-immutable: true}}}`,
		`properties: {` + strings.Repeat("a", 400) + `: {x-kubernetes-immutable: true}}`,
	} {
		marks, err := immutability.Marks([]immutability.Version{{Name: "v1", Schema: schemaOf(t, text)}})
		if err == nil || len(marks) > 0 {
			t.Errorf("%s: marks %v, error %v", text, marks, err)
		}
	}
}

func TestParseMarksErrors(t *testing.T) {
	tests := map[string]string{
		"no-delete spec":          `line 1: after no-delete at "spec": want unless VERB, while EXPRESSION, or the end of the line; the rule has no path`,
		"imutable spec":           `line 1: "imutable": must be immutable, set-once, no-set, no-unset, no-modify, immutable-keys, addition-only, deletion-only, no-delete or update=`,
		"\nimmutable":             `line 2: the path is empty`,
		"immutable spec.ports[0]": `line 1: at "[0]": want [*] or a quoted name`,
		"v1,: immutable spec":     `line 1: a version before the colon is empty`,
		"immutable spec..a\nv1: x a": "line 1: at \"..a\": a name must follow the dot\n" +
			"line 2: \"x\": must be immutable, set-once, no-set, no-unset, no-modify, immutable-keys, addition-only, deletion-only, no-delete or update=",
	}
	for text, want := range tests {
		if _, err := immutability.ParseMarks(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestMarksRoundTrip moves the markers of random schemas to the annotation and back.
func TestMarksRoundTrip(t *testing.T) {
	moved := 0
	for seed := range uint64(500) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		value := g.root(3)
		s, _, err := schema.Decode(value)
		if err != nil || len(immutability.Validate(s)) > 0 {
			continue
		}
		marks, err := immutability.Marks([]immutability.Version{{Name: "v1", Schema: s}})
		if err != nil {
			continue
		}
		read, err := immutability.ParseMarks(immutability.FormatMarks(marks))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		bare := runtime.DeepCopyJSON(value)
		removeMarkers(bare)
		for _, m := range read {
			node := m.Node(bare)
			if node == nil {
				t.Fatalf("seed %d: no node for %s", seed, m)
			}
			node[m.Marker.Keyword()] = m.Marker.KeywordValue()
		}
		after, _, err := schema.Decode(bare)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := immutability.Compile(s)
		if again, err := immutability.Compile(after); err != nil || !before.Equal(again) {
			t.Fatalf("seed %d (-before +after), %v:\n%s", seed, err, cmp.Diff(value, bare))
		}
		moved += len(read)
	}
	if moved < 100 {
		t.Errorf("only %d markers were moved", moved)
	}
}

// removeMarkers removes the markers of a schema as JSON decoding gives it.
func removeMarkers(node any) {
	switch node := node.(type) {
	case map[string]any:
		for _, name := range markerNames {
			delete(node, name)
		}
		delete(node, schema.UpdateKeyword)
		for _, child := range node {
			removeMarkers(child)
		}
	case []any:
		for _, child := range node {
			removeMarkers(child)
		}
	}
}

func FuzzParseMarks(f *testing.F) {
	f.Add("set-once a unless move while oldSelf.a == \"x\"\nno-delete\nupdate=NoSet,NoModify metadata.labels[\"a b\"]\n")
	f.Add("immutable spec.size\nv1,v2: addition-only spec[\"a.b\"][*].*\n# x\n")
	f.Fuzz(func(t *testing.T, text string) {
		marks, err := immutability.ParseMarks(text)
		if err != nil || len(text) > 300 { // longer paths are cut
			return
		}
		again, err := immutability.ParseMarks(immutability.FormatMarks(marks))
		if err != nil || immutability.FormatMarks(again) != immutability.FormatMarks(marks) {
			t.Errorf("%q reads as %q, and then as %q, %v", text, marks, again, err)
		}
	})
}
