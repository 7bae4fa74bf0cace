package policies_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/apiserver"
)

// TestStructured checks that rules as objects give the same answers as lines: two policies have the same rules for objects with
// different labels.
func TestStructured(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, widgetsDefinition)
	spec := func(form, rules string) string {
		return `{resources: [configmaps, widgets.example.com], ` + rules + `, objectSelector: {matchLabels: {form: ` + form + `}}}`
	}
	f.policy("lines", spec("lines", `rules: ['update=NoSet,NoModify data unless refill while oldSelf.data.state == "used"', no-delete unless retire,
  'v1: immutable spec.note', 'warn set-once metadata.annotations["example.com/team"]', addition-only binaryData]`))
	f.policy("objects", spec("objects", `structuredRules: [
  {constraint: "update=NoSet,NoModify", path: data, unless: refill, while: "oldSelf.data.state == \"used\"\n"}, {constraint: no-delete, unless: retire},
  {constraint: immutable, path: spec.note, versions: [v1]}, {constraint: set-once, path: 'metadata.annotations["example.com/team"]', mode: warn},
  {constraint: addition-only, path: binaryData}]`))
	f.grant("ann", []string{"configmaps", "widgets"}, []string{"patch", "get", "delete"})
	f.grant("bob", []string{"configmaps", "widgets"}, []string{"patch", "get", "delete", "refill", "retire"})
	answers := map[string][]string{}
	for _, form := range []string{"lines", "objects"} {
		f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+form+`, labels: {form: `+form+`}}, data: {state: used}, binaryData: {a: eA==}}`)
		f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: `+form+`, labels: {form: `+form+`}}, spec: {note: a}}`)
		for _, by := range []*fixture{f.as("ann"), f.as("bob")} {
			add := func(answer string) {
				answers[form] = append(answers[form], strings.ReplaceAll(answer+strings.Join(by.warnings.texts, "; "), form, "FORM"))
			}
			for _, patch := range []string{
				`{data: {state: free}}`, `{data: {state: used}}`, `{binaryData: {a: null}}`, `{metadata: {annotations: {example.com/team: north}}}`,
				`{metadata: {annotations: {example.com/team: south}}}`, `{metadata: {labels: {form: null}}}`,
			} {
				add(by.patch(configMaps, form, patch))
			}
			add(by.patch(widgets, form, `{spec: {note: b}}`))
			add(by.patch("default/widgets.v2.example.com", form, `{metadata: {labels: {a: b}}}`))
			add(by.delete(widgets, form, metav1.DeleteOptions{}))
			add(by.delete(configMaps, form, metav1.DeleteOptions{}))
		}
	}
	for i, line := range answers["lines"] {
		if object := answers["objects"][i]; object != line {
			t.Errorf("answer %d as an object: %s\nas a line: %s", i, object, line)
		}
	}
	f.want("the last answer", answers["lines"][len(answers["lines"])-1], "okconfigmaps/FORM: deleted by the right to retire")
}

// TestOnlyNoDelete checks that a policy is in force whose only rule is no-delete, for built-in kinds and custom resources.
func TestOnlyNoDelete(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, widgetsDefinition)
	f.policy("lines", `{resources: [secrets, widgets.example.com], rules: [no-delete]}`)
	f.policy("objects", `{resources: [configmaps, widgets.example.com], structuredRules: [{constraint: no-delete}]}`)
	f.create("default/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: c}}`)
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: c}}`)
	for _, resource := range []string{"default/secrets", configMaps, widgets} {
		f.want("delete "+resource, outcome(f.of(resource).Delete(t.Context(), "c", metav1.DeleteOptions{})), `the rule "no-delete" of policy `)
	}
	for name, want := range map[string]string{"lines": "secrets widgets.example.com", "objects": "configmaps widgets.example.com"} {
		f.wantStatus(name, "True", "all rules are in force")
		found, err := f.of(policies).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		guarded, _, _ := unstructured.NestedStringSlice(found.Object, "status", "guarded")
		if got := strings.Join(guarded, " "); got != want {
			t.Errorf("policy %s guards %q, want %q", name, got, want)
		}
	}
}
