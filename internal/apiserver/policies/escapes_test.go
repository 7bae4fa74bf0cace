package policies_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
)

// TestEscapes checks that the server warns about ways around the rules of a policy in two writes, and that the rule that it names
// closes them.
func TestEscapes(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, widgetsDefinition)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: L, note: a}}`)
	const (
		size = `widgets.example.com: version v1: spec.size: immutable, but spec is optional: it can be removed and then set again with another value; ` +
			`the rule "no-unset spec" closes this`
		sizeV2 = `widgets.example.com: version v2: spec.size: immutable, but spec is optional: it can be removed and then set again with another value; ` +
			`the rule "no-unset spec" closes this`
		note = `widgets.example.com: version v1: spec.note: no-modify, but spec is optional: it can be removed and then set again with another value; ` +
			`the rule "no-unset spec" closes this`
		noteItself = `widgets.example.com: version v1: spec.note: no-modify, but spec.note is optional: it can be removed and then set again with another value; ` +
			`the rule "set-once spec.note" closes this`
	)
	f.policy("size", `{resources: [configmaps, widgets.example.com, gadgets.example.com], rules: [immutable spec.size]}`)
	f.wantWarnings(size, sizeV2)
	f.want("the field", f.patch(widgets, "w", `{spec: {size: M}}`), "which policy size forbids")
	f.want("without its parent", f.patch(widgets, "w", `{spec: null}`), "ok")
	f.want("with its parent", f.patch(widgets, "w", `{spec: {size: M, note: a}}`), "ok")

	f.want("another rule", f.patch(policies, "size", `{spec: {structuredRules: [{constraint: no-modify, path: spec.note, while: "true"}]}}`), "ok")
	f.wantWarnings(note, noteItself)
	f.want("a label", f.patch(policies, "size", `{metadata: {labels: {a: b}}}`), "ok")
	f.wantWarnings()
	f.want("a rule that warns", f.patch(policies, "size", `{spec: {rules: [immutable spec.size, warn no-unset spec]}}`), "ok")
	f.wantWarnings()
	f.want("the parent", f.patch(policies, "size", `{spec: {rules: [immutable spec.size, no-unset spec], structuredRules: null}}`), "ok")
	f.wantWarnings()
	f.want("without its parent", f.patch(widgets, "w", `{spec: null}`), "which policy size forbids")

	if err := f.of(policies).Delete(t.Context(), "size", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.warnings.texts = nil
	f.policy("labels", `{resources: [widgets.example.com], rules: ['no-modify metadata.labels["team"]']}`)
	f.wantWarnings(`widgets.example.com: no-modify metadata.labels.team: it can be removed and then set again with another value; write set-once to prevent this`)
	// The definition itself closes the way.
	f.want("the annotation", f.patch(definitions, "widgets.example.com", `{metadata: {annotations: {holdfast.dev/immutability: no-unset spec}}}`), "ok")
	f.warnings.texts = nil
	f.policy("closed", `{resources: [widgets.example.com], rules: [immutable spec.size]}`)
	f.wantWarnings()
}
