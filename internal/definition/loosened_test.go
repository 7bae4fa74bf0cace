package definition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/definition"
)

// TestLoosened checks the warnings about an update of a definition after which rules forbid less. Each side of a test has the properties
// of spec in v1 and v2, then lines of the annotation. "-" in front of v2 means that it is not served, and an empty v2 that there is none.
func TestLoosened(t *testing.T) {
	t.Parallel()
	const (
		free      = `a: {type: string}, m: {type: object, additionalProperties: {type: string}}`
		immutable = `a: {type: string, x-kubernetes-immutable: true}, m: {type: object, additionalProperties: {type: string}}`
		at        = "metadata.annotations[holdfast.dev/immutability]: "
		ready     = ` while oldSelf.spec.a == "x"`
		done      = ` while oldSelf.spec.a == "y"`
	)
	for name, test := range map[string]struct {
		old, new []string
		want     []string
	}{
		"no change":             {old: []string{free, free, "immutable spec.a"}, new: []string{free, free, "immutable spec.a"}},
		"a line becomes a mark": {old: []string{free, "", "immutable spec.a"}, new: []string{immutable, ""}},
		"a condition becomes a mark": {
			old: []string{free, "", "immutable spec.a" + ready}, new: []string{immutable, ""},
		},
		"a mark becomes a line": {old: []string{immutable, ""}, new: []string{free, "", "immutable spec.a"}},
		"a line is gone": {old: []string{free, free, "immutable spec.a"}, new: []string{free, free}, want: []string{
			at + `the rule "immutable spec.a" is gone, so it forbids nothing from now on`,
		}},
		"a line about labels is gone": {old: []string{free, "", `immutable metadata.labels["team"]`}, new: []string{free, ""}, want: []string{
			at + `the rule "immutable metadata.labels.team" is gone, so it forbids nothing from now on`,
		}},
		"another constraint": {old: []string{free, "", "immutable spec.a"}, new: []string{free, "", "set-once spec.a"}, want: []string{
			at + `the rule "immutable spec.a" became "set-once spec.a", which allows what it forbade`,
		}},
		"a stricter constraint": {old: []string{free, "", "set-once spec.a"}, new: []string{free, "", "immutable spec.a"}},
		"a verb": {old: []string{free, "", "no-delete"}, new: []string{free, "", "no-delete unless retire"}, want: []string{
			at + `the rule "no-delete" became "no-delete unless retire", which allows what it forbade`,
		}},
		"a new condition": {old: []string{free, "", "immutable spec.m"}, new: []string{free, "", "immutable spec.m" + ready}, want: []string{
			at + `the rule "immutable spec.m" became "immutable spec.m while oldSelf.spec.a == \"x\"", which allows what it forbade`,
		}},
		"another condition": {
			old: []string{free, "", "immutable spec.m unless move" + ready}, new: []string{free, "", "immutable spec.m unless move" + done},
			want: []string{at + `the condition of the rule "immutable spec.m unless move" changed from "oldSelf.spec.a == \"x\"" to "oldSelf.spec.a == \"y\""`},
		},
		"a condition of several": {
			old: []string{free, "", "immutable spec.m" + ready, "no-delete" + ready}, new: []string{free, "", "no-delete" + done, "immutable spec.m" + ready},
			want: []string{at + `the condition of the rule "no-delete" changed from "oldSelf.spec.a == \"x\"" to "oldSelf.spec.a == \"y\""`},
		},
		"fewer versions, and the server checks all of them": {
			old: []string{free, free, "immutable spec.a"}, new: []string{free, free, "v1: immutable spec.a"},
		},
		"its version is not served": {old: []string{free, free, "v2: immutable spec.a"}, new: []string{free, "-" + free, "v2: immutable spec.a"}, want: []string{
			at + `the rule "v2: immutable spec.a" forbids nothing from now on, because the definition neither serves nor stores v2 any more`,
		}},
		"its version is removed": {old: []string{free, free, "v2: immutable spec.a"}, new: []string{free, "", "v2: immutable spec.a"}, want: []string{
			at + `the rule "v2: immutable spec.a" forbids nothing from now on, because the definition neither serves nor stores v2 any more`,
		}},
		"its version and the line are removed": {old: []string{free, free, "v2: immutable spec.a"}, new: []string{free, ""}, want: []string{
			at + `the rule "v2: immutable spec.a" is gone, so it forbids nothing from now on`,
		}},
		"another version has the rule": {old: []string{free, free, "immutable spec.a"}, new: []string{free, "-" + free, "immutable spec.a"}},
		"its version was not served":   {old: []string{free, "-" + free, "v2: immutable spec.a"}, new: []string{free, "", "v2: immutable spec.a"}, want: []string{at + "v2: immutable spec.a: no version has this field any more"}},
		"the version of a marker is not served": {old: []string{free, immutable}, new: []string{free, "-" + immutable}, want: []string{
			"spec.a: x-kubernetes-immutable of version v2 forbids nothing from now on, because the definition neither serves nor stores the version any more",
		}},
		"the version of a marker is removed": {old: []string{free, immutable}, new: []string{free, ""}, want: []string{
			"spec.a: x-kubernetes-immutable of version v2 forbids nothing from now on, because the definition neither serves nor stores the version any more",
		}},
		"another version has the marker": {old: []string{immutable, immutable}, new: []string{immutable, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := definition.Write{APIVersion: definition.V1, Old: store(t, versioned(test.old))}
			var got []string
			for _, warning := range w.Warnings(accept(t, w, updated(read(t, versioned(test.new))))) {
				if !strings.Contains(warning, "; the strictest holds") && !strings.Contains(warning, "is optional") {
					got = append(got, warning)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// versioned returns a definition for one side of TestLoosened.
func versioned(side []string) string {
	version := func(name, properties string) string {
		served := !strings.HasPrefix(properties, "-")
		return fmt.Sprintf("  - {name: %s, served: %t, storage: %t, schema: {openAPIV3Schema: {type: object, required: [spec], "+
			"properties: {spec: {type: object, properties: {%s}}}}}}\n", name, served, name == "v1", strings.TrimPrefix(properties, "-"))
	}
	text := fmt.Sprintf(`
metadata: {name: widgets.example.com, annotations: {holdfast.dev/immutability: %q}}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
`, strings.Join(side[2:], "\n")) + version("v1", side[0])
	if side[1] != "" {
		text += version("v2", side[1])
	}
	return text
}
