package policies_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/apiserver"
)

// The built-in definitions stay: no user deletes them, or gives them an owner, with which the garbage collector would delete them.
func TestBuiltInDefinitions(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	for _, name := range []string{"immutabilitypolicies.guard.holdfast.dev", "operators.kudo.dev", "instances.kudo.dev"} {
		const says = "it is built in, and stays as it is"
		f.want("delete "+name, outcome(f.of(definitions).Delete(t.Context(), name, metav1.DeleteOptions{})), says)
		f.want("an owner of "+name,
			f.patch(definitions, name, `{metadata: {ownerReferences: [{apiVersion: v1, kind: Namespace, name: gone, uid: "1"}]}}`), says)
		f.want("a label of "+name, f.patch(definitions, name, `{metadata: {labels: {a: b}}}`), "ok")
		server := f.as("system:apiserver", "system:masters")
		f.want("the server deletes "+name, outcome(server.of(definitions).Delete(t.Context(), name, metav1.DeleteOptions{})), says)
	}
}

// TestVersionWithRules checks that the write of a definition that no longer serves the version of a rule warns about it, and that the
// status of a policy with such a rule says so.
func TestVersionWithRules(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(definitions, widgetsDefinition)
	f.policy("versions", `{resources: [widgets.example.com], rules: ['v2: immutable spec.replicas']}`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: L, replicas: 1}}`)
	f.want("the line", f.patch(definitions, "widgets.example.com", `{metadata: {annotations: {holdfast.dev/immutability: "v2: immutable spec.size"}}}`), "ok")
	f.want("the rule", f.patch(widgets, "w", `{spec: {size: M}}`), "spec.size: field is immutable")
	f.want("the policy", f.patch(widgets, "w", `{spec: {replicas: 2}}`), "which policy versions forbids")
	f.wantStatus("versions", "True", "all rules are in force")

	// The server may write a condition of the definition at the same time.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := f.of(definitions).Get(t.Context(), "widgets.example.com", metav1.GetOptions{})
		if err != nil {
			return err
		}
		served, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		served[1].(map[string]any)["served"] = false
		if err := unstructured.SetNestedSlice(crd.Object, served, "spec", "versions"); err != nil {
			return err
		}
		f.warnings.texts = nil
		_, err = f.of(definitions).Update(t.Context(), crd, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.wantWarnings(`metadata.annotations[holdfast.dev/immutability]: the rule "v2: immutable spec.size" forbids nothing from now on, `+
		`because the definition neither serves nor stores v2 any more`,
		"spec.versions[1].served: version v2 is no longer served: clients that use this version get 404")
	f.want("the rule", f.patch(widgets, "w", `{spec: {size: M}}`), "ok")
	f.wantStatus("versions", "False", "widgets.example.com: v2: immutable spec.replicas: the definition neither serves nor stores a version with this rule")
}
