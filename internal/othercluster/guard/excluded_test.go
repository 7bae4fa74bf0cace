package guard_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestNeverGuarded checks that a policy cannot match what a cluster needs to run, and that a guard that does not answer stops
// only updates of guarded objects.
func TestNeverGuarded(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	excluded := []string{
		"leases.coordination.k8s.io", "events", "events.events.k8s.io", "nodes", "roles.rbac.authorization.k8s.io",
		"customresourcedefinitions.apiextensions.k8s.io", "validatingwebhookconfigurations.admissionregistration.k8s.io",
		"immutabilitypolicies.guard.holdfast.dev", "certificatesigningrequests.certificates.k8s.io",
	}
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: everything}
spec: {resources: [configmaps, `+strings.Join(excluded, ", ")+`], rules: [immutable data]}
`)
	const configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`
	free := []string{"kube-system/configmaps", "kube-public/configmaps", "holdfast-guard/configmaps"}
	for _, resource := range append(free, "default/configmaps") {
		f.create(resource, configMap)
	}
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: election, `+
		`annotations: {control-plane.alpha.kubernetes.io/leader: "{}"}}, data: {a: x}}`)
	f.guarded("configmaps")
	var problems []string
	for _, resource := range excluded {
		problems = append(problems, resource+": this resource is never guarded")
	}
	f.wantStatus("everything", "False", problems...)
	waittest.Until(t, "the guard is asked", func() bool { return f.patch("default/configmaps", "c", `{data: {b: y}}`) != "ok" })
	f.stop()
	if got := f.patch("default/configmaps", "c", `{data: {c: z}}`); !strings.HasPrefix(got, "InternalError: ") {
		t.Errorf("a guarded object: %s", got)
	}
	for _, resource := range free {
		if got := f.patch(resource, "c", `{data: {c: z}}`); got != "ok" {
			t.Errorf("%s: %s", resource, got)
		}
	}
	if got := f.patch("default/configmaps", "election", `{data: {c: z}}`); got != "ok" {
		t.Errorf("a leader election: %s", got)
	}
	f.create("default/configmaps", strings.Replace(configMap, "name: c", "name: new", 1))
	if err := f.of("default/configmaps").Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
}
