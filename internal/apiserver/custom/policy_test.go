package custom_test

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestPolicyMutatesCustomResources checks that a mutating admission policy can set a field
// of a custom resource, and a field that is added to the schema later.
func TestPolicyMutatesCustomResources(t *testing.T) {
	t.Parallel()
	const group = "policy.example.com"
	define(t, group, `{type: object, properties: {a: {type: string}}}`)
	policy := func(field string) {
		t.Helper()
		name := "set-" + field
		shared.must(t, http.StatusCreated, "POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies", fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %s}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [%s], apiVersions: [v1], operations: [CREATE], resources: [things]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{%s: "by policy"}}'}}]
`, name, group, field))
		shared.must(t, http.StatusCreated, "POST", "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %s}
spec: {policyName: %s}
`, name, name))
		t.Cleanup(func() {
			remove(t, "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/"+name)
			remove(t, "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/"+name)
		})
	}
	mutated := func(field string) func() bool {
		return func() bool {
			got, err := shared.do("POST", "/apis/"+group+"/v1/namespaces/default/things?dryRun=All",
				"{apiVersion: "+group+"/v1, kind: Thing, metadata: {name: one}, spec: {}}")
			value, _, _ := unstructured.NestedString(got.object.Object, "spec", field)
			return err == nil && value == "by policy"
		}
	}
	policy("a")
	waittest.Until(t, "the policy sets a field", mutated("a"))
	shared.must(t, http.StatusOK, merge, definitions+"/things."+group,
		`{spec: {versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, `+
			`properties: {spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}}]}}`)
	policy("b")
	waittest.Until(t, "the policy sets a field that is new in the schema", mutated("b"))
}
