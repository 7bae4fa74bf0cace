package guard_test

import (
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// TestElection checks that the record of a leader election does not open a guarded object.
func TestElection(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.policy("data", "configmaps")
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.asks("default/configmaps", "c", `{data: {a: new}}`)
	const record = `control-plane.alpha.kubernetes.io/leader: `
	for _, step := range []struct{ patch, want string }{
		{`{metadata: {annotations: {` + record + `"1"}}, data: {a: new}}`, "BadRequest: "},
		{`{metadata: {annotations: {` + record + `"1"}}}`, "ok"},
		{`{metadata: {annotations: {` + record + `"2"}}}`, "ok"},
		{`{data: {a: new}}`, "BadRequest: "},
		{`{metadata: {annotations: {` + record + `"3"}}, data: {a: new}}`, "BadRequest: "},
		{`{metadata: {annotations: {` + record + `null}}, data: {a: new}}`, "BadRequest: "},
		{`{metadata: {annotations: {` + record + `null}}}`, "ok"},
	} {
		if got := f.patch("default/configmaps", "c", step.patch); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %s, want %s", step.patch, got, step.want)
		}
	}
}

// TestSubresources checks that the guard judges every subresource that can change a field with a rule.
func TestSubresources(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: pods}
spec:
  resources: [pods]
  rules: [immutable spec.containers, immutable spec.ephemeralContainers, immutable spec.nodeName]
`)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: namespaces}
spec: {resources: [namespaces], rules: [immutable spec.finalizers]}
`)
	const pods = "default/pods"
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`)
	f.create(pods, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1m}}}]}}`)
	for _, resource := range []string{"pods/resize", "pods/ephemeralcontainers", "pods/binding", "bindings", "namespaces/finalize"} {
		f.guarded(resource)
	}
	f.asks(pods, "p", `{spec: {containers: [{name: c, image: other}]}}`)
	refused := func(what, got, field string) {
		t.Helper()
		if !strings.HasPrefix(got, `BadRequest: admission webhook "immutable.guard.holdfast.dev" denied`) || !strings.Contains(got, field) {
			t.Errorf("%s: %s", what, got)
		}
	}
	refused("resize", f.patch(pods, "p", `{spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 2m}}}]}}`, "resize"), "spec.containers")
	refused("ephemeralcontainers", f.patch(pods, "p",
		`{spec: {ephemeralContainers: [{name: d, image: i, terminationMessagePolicy: File}]}}`, "ephemeralcontainers"), "spec.ephemeralContainers")
	namespace, err := f.of("namespaces").Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace.Object["spec"] = map[string]any{"finalizers": []any{}}
	dryRun := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
	waittest.Until(t, "the guard is asked about the finalizers of namespaces", func() bool {
		_, err := f.of("namespaces").Update(t.Context(), namespace, dryRun, "finalize")
		return err != nil
	})
	_, err = f.of("namespaces").Update(t.Context(), namespace, metav1.UpdateOptions{}, "finalize")
	refused("finalize", outcome(err), "spec.finalizers")
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	err = f.server.Client(t).CoreV1().Pods("default").Bind(t.Context(), binding, metav1.CreateOptions{})
	refused("binding", outcome(err), "spec.nodeName")
	f.wantStatus("pods", "True", "all rules are in force")
}

// TestSelection checks that only a user that may unlock an object can take it out of a policy, by its labels or by those of its
// namespace.
func TestSelection(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {env: prod}}}`)
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: other}}`)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: prod}
spec:
  resources: [configmaps]
  rules: [immutable data]
  namespaceSelector: {matchLabels: {env: prod}}
  objectSelector: {matchExpressions: [{key: free, operator: DoesNotExist}]}
`)
	for _, namespace := range []string{"prod", "other"} {
		f.create(namespace+"/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	}
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: prod-too}
spec: {resources: [secrets], rules: [immutable data], namespaceSelector: {matchLabels: {env: prod}}}
`)
	f.asks("prod/configmaps", "c", `{data: {a: new}}`)
	f.wantStatus("prod-too", "True", "all rules are in force")
	f.guarded("namespaces/finalize")
	f.grant("ann", "get", "patch")
	f.grant("bob", "get", "patch", "unlock")
	ann, bob := f.as("ann"), f.as("bob")
	const open, closed = `{metadata: {labels: {free: "yes"}}}`, `{metadata: {labels: {free: null}}}`
	const refused = `cannot be changed this way: metadata.labels: field is immutable: policy prod would no longer select it ` +
		`(a user that may unlock it can change it)`
	if got := ann.causes("namespaces", "prod", `{metadata: {labels: {env: null}}}`); got != 1 {
		t.Errorf("%d causes, want that of the first policy", got)
	}
	for _, step := range []struct{ what, got, want string }{
		{"the label of an object", ann.patch("prod/configmaps", "c", open), `ConfigMap "c" ` + refused},
		{"another label", ann.patch("prod/configmaps", "c", `{metadata: {labels: {a: b}}}`), "ok"},
		{"in another namespace", ann.patch("other/configmaps", "c", open), "ok"},
		{"the label of a namespace", ann.patch("namespaces", "prod", `{metadata: {labels: {env: null}}}`), `Namespace "prod" ` + refused},
		{"through the status", ann.patch("namespaces", "prod", `{metadata: {labels: {env: test}}}`, "status"), `Namespace "prod" ` + refused},
		{"another label of a namespace", ann.patch("namespaces", "prod", `{metadata: {labels: {a: b}}}`), "ok"},
		{"another namespace", ann.patch("namespaces", "other", `{metadata: {labels: {a: b}}}`), "ok"},
		{"with the verb", bob.patch("prod/configmaps", "c", open), "ok"},
		{"an object that is not selected", ann.patch("prod/configmaps", "c", `{data: {a: new}}`), "ok"},
		{"selected again", ann.patch("prod/configmaps", "c", closed), "ok"},
		{"the data", ann.patch("prod/configmaps", "c", `{data: {a: old}}`), "data.a"},
		{"a namespace with the verb", bob.patch("namespaces", "prod", `{metadata: {labels: {env: null}}}`), "ok"},
	} {
		if step.want == "ok" && step.got != "ok" || !strings.Contains(step.got, step.want) ||
			step.want != "ok" && !strings.HasPrefix(step.got, "BadRequest: ") {
			t.Errorf("%s: %s, want %s", step.what, step.got, step.want)
		}
	}
}

// causes returns the number of causes of the refusal of a merge patch.
func (f *fixture) causes(resource, name, patch string) int {
	f.Helper()
	_, err := f.of(resource).Patch(f.Context(), name, types.MergePatchType, yamltest.JSON(f, patch), metav1.PatchOptions{})
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		f.Fatalf("no refusal: %v", err)
	}
	return len(status.Status().Details.Causes)
}

// TestNewNamespace checks that a replica reads a namespace that it does not know yet. Without its labels, a deletion would be answered
// NotFound.
func TestNewNamespace(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {env: prod}}}`)
	if got, err := guard.LabelsOf(f.server.Config(t), "prod"); err != nil || got["env"] != "prod" {
		t.Errorf("labels %v, %v", got, err)
	}
	if _, err := guard.LabelsOf(f.server.Config(t), "none"); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("no namespace: %v", err)
	}
}

// grant gives a user verbs for ConfigMaps, namespaces and custom resources.
func (f *fixture) grant(user string, verbs ...string) {
	f.Helper()
	rbac := f.server.Client(f.T).RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "namespaces", "namespaces/status"}, Verbs: verbs},
		{APIGroups: []string{"example.com"}, Resources: []string{"*"}, Verbs: verbs},
	}}
	if _, err := rbac.ClusterRoles().Create(f.Context(), role, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := rbac.ClusterRoleBindings().Create(f.Context(), binding, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	for _, verb := range verbs {
		servertest.AwaitRight(f.T, f.server.Client(f.T), user, authorizationv1.ResourceAttributes{Verb: verb, Resource: "configmaps", Namespace: "default"})
	}
}
