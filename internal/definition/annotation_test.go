package definition_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// annotated returns a definition whose annotation has the given lines.
func annotated(schema string, marks ...string) string {
	text := "metadata: {name: widgets.example.com}"
	return strings.Replace(widgets(schema), text, text[:len(text)-1]+
		`, annotations: {`+immutability.Annotation+`: `+strconv.Quote(strings.Join(marks, "\n"))+`}}`, 1)
}

const sized = `{type: object, properties: {spec: {type: object, required: [size], properties: {size: {type: string}, ` +
	`ports: {type: array, items: {type: integer}}}}}, required: [spec]}`

func TestAnnotation(t *testing.T) {
	t.Parallel()
	c := compiled(t, store(t, annotated(sized, "immutable spec.size")))
	var got []string
	for _, v := range c.Policy.Check(yamltest.Map(t, `{spec: {size: x}}`), yamltest.Map(t, `{spec: {size: z}}`)) {
		got = append(got, v.String())
	}
	if diff := cmp.Diff([]string{`spec.size: field is immutable: changed from "x" to "z"`}, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func TestAnnotationValidated(t *testing.T) {
	t.Parallel()
	const at = "metadata.annotations[holdfast.dev/immutability]: "
	const marked = `{type: object, properties: {spec: {type: object, properties: {size: {type: string, x-kubernetes-immutable: true}}}}}`
	tests := map[string]struct {
		schema string
		marks  []string
		want   []string
	}{
		"the same marker twice": {marked, []string{"immutable spec.size"}, nil},
		"another marker": {marked, []string{"addition-only spec.size"}, []string{
			at + "Forbidden: version v1: properties[spec].properties[size].x-kubernetes-addition-only: " +
				"needs keys: this is a scalar",
		}},
		"two rules for a field": {sized, []string{"no-set spec.size", "no-unset spec.size unless move"}, nil},
		"a condition":           {sized, []string{`immutable spec.size while oldSelf.spec.size == "L" && oldSelf.metadata.labels.exists(l, l == "x")`}, nil},
		"a condition about an unknown field": {sized, []string{`immutable spec.size while oldSelf.spec.sise == "L"`}, []string{
			at + `Invalid value: immutable spec.size while oldSelf.spec.sise == "L": in version v1, the condition is wrong: ` +
				`column 13: undefined field 'sise'`,
		}},
		"a condition about the new object": {sized, []string{`no-delete while self.spec.size == "L"`}, []string{
			at + `Invalid value: no-delete while self.spec.size == "L": in version v1, the condition is wrong: ` +
				`column 1: undeclared reference to 'self' (in container '')`,
		}},
		"a condition that is no bool": {sized, []string{`immutable spec.size while oldSelf.spec.size`}, []string{
			at + `Invalid value: immutable spec.size while oldSelf.spec.size: in version v1, the condition is wrong: must be a bool, and is a string`,
		}},
		"a condition that costs too much": {sized, []string{`immutable spec.size while oldSelf.spec.ports.all(a, oldSelf.spec.ports.all(b, a <= b))`}, []string{
			at + `Invalid value: immutable spec.size while oldSelf.spec.ports.all(a, oldSelf.spec.ports.all(b, a <= b)): ` +
				`in version v1, the condition is wrong: its estimated cost is `,
		}},
		"a taken verb":        {sized, []string{`immutable spec.size unless update`}, []string{at + `Invalid value: line 1: unless update: this verb has a meaning already, choose another`}},
		"a label of ours":     {sized, []string{`immutable metadata.labels["holdfast.dev/x"]`}, []string{at + `Invalid value: line 1: metadata.labels["holdfast.dev/x"]: no rule may be about this key, programs keep their own state there`}},
		"another part":        {sized, []string{`immutable metadata.finalizers`}, []string{at + `Invalid value: line 1: metadata.finalizers: in metadata, a rule is about labels, annotations, or one key of them`}},
		"something after it":  {sized, []string{`immutable spec.size if x`}, []string{at + `Invalid value: line 1: after the path at "if": want unless VERB, while EXPRESSION, or the end of the line`}},
		"labels and deletion": {sized, []string{`immutable metadata.labels["team"]`, `addition-only metadata.annotations`, `no-delete unless scrap`}, nil},

		"keys of an atomic list": {sized, []string{"immutable-keys spec.ports"}, []string{
			at + "Forbidden: version v1: properties[spec].properties[ports].x-kubernetes-immutable-keys: " +
				"needs keys: this list is of type atomic, only lists of type map or set have keys",
		}},
		"no such field": {sized, []string{"immutable spec.size", "immutable spec.sise"}, []string{
			at + "Invalid value: immutable spec.sise: no version has this field",
		}},
		"no such version": {sized, []string{"v2: immutable spec.size"}, []string{
			at + "Invalid value: v2: immutable spec.size: no version has this field",
		}},
		"no such marker": {sized, []string{"frozen spec.size"}, []string{
			at + `Invalid value: line 1: "frozen": must be immutable, set-once, no-set, no-unset, no-modify, immutable-keys, addition-only, deletion-only, no-delete or update=`,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := refusals(t, definition.Write{APIVersion: definition.V1}, read(t, annotated(test.schema, test.marks...)))
			for i, want := range test.want {
				// The figure of a cost is that of a library.
				if strings.HasSuffix(want, "cost is ") && i < len(got) && strings.HasPrefix(got[i], want) {
					got[i] = want
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAnnotationOutlivesField checks that a change of the schema alone is accepted with a warning if
// the annotation names a field that is gone, and that a marker that leaves the annotation is missed.
func TestAnnotationOutlivesField(t *testing.T) {
	t.Parallel()
	old := store(t, annotated(sized, "immutable spec.size", "immutable spec.ports"))
	w := definition.Write{APIVersion: definition.V1, Old: old}
	const other = `{type: object, properties: {spec: {type: object, required: [size], properties: {size: {type: string}}}}, required: [spec]}`
	without := accept(t, w, read(t, annotated(other, "immutable spec.size", "immutable spec.ports")))
	want := []string{"metadata.annotations[holdfast.dev/immutability]: immutable spec.ports: no version has this field any more"}
	if diff := cmp.Diff(want, w.Warnings(without)); diff != "" {
		t.Errorf("a field is gone (-want +got):\n%s", diff)
	}
	want = []string{`metadata.annotations[holdfast.dev/immutability]: the rule "immutable spec.ports" is gone, so it forbids nothing from now on`}
	if diff := cmp.Diff(want, w.Warnings(accept(t, w, read(t, annotated(sized, "immutable spec.size"))))); diff != "" {
		t.Errorf("a line is gone (-want +got):\n%s", diff)
	}
}
