package policies_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
