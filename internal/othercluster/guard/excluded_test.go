package guard_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/othercluster/guard"
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
	for patch, want := range map[string]string{
		`{metadata: {annotations: {control-plane.alpha.kubernetes.io/leader: "{a: b}"}}}`: "ok",
		`{data: {c: z}}`: "InternalError: ",
		`{metadata: {annotations: {control-plane.alpha.kubernetes.io/leader: "{}", other: "{}"}}}`:    "InternalError: ",
		`{metadata: {annotations: {control-plane.alpha.kubernetes.io/leader: null}, labels: {a: b}}}`: "InternalError: ",
	} {
		if got := f.patch("default/configmaps", "election", patch); !strings.HasPrefix(got, want) {
			t.Errorf("a leader election: %s: %s", patch, got)
		}
	}
	f.create("default/configmaps", strings.Replace(configMap, "name: c", "name: new", 1))
	if err := f.of("default/configmaps").Delete(t.Context(), "c", metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// TestExcludedByConfiguration checks that a guard does not guard namespaces and resources that its configuration excludes.
func TestExcludedByConfiguration(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.edit = func(config *guard.Config) {
		config.ExcludeNamespaces = []string{"build", "kube-system"}
		config.ExcludeResources = []schema.GroupResource{{Resource: "secrets"}}
	}
	f.run()
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: build}}`)
	for _, namespace := range []string{"build", "default"} {
		f.create(namespace+"/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	}
	f.create("default/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: eA==}}`)
	f.policy("configuration", "configmaps")
	f.policy("credentials", "secrets")
	f.asks("default/configmaps", "c", `{data: {a: new}}`)
	f.wantStatus("credentials", "False", "secrets: the guard is configured not to guard this resource")
	if got := f.patch("build/configmaps", "c", `{data: {a: new}}`); got != "ok" {
		t.Errorf("an excluded namespace: %s", got)
	}
	if got := f.patch("default/secrets", "s", `{data: {a: eQ==}}`); got != "ok" {
		t.Errorf("an excluded resource: %s", got)
	}
}
