package guard_test

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
)

const allConfigMaps = `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: all}
spec: {resources: [configmaps], rules: [no-delete]}
`

// TestTerminatingNamespace checks that a rule for all ConfigMaps does not stop the deletion of the ones that every namespace has, once
// their namespace is terminating, and that an object which becomes kept in a terminating namespace keeps it from being finalized.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: ending}}`)
	const waits = `metadata: {name: waits, finalizers: [example.com/f]}}`
	f.create("ending/secrets", `{apiVersion: v1, kind: Secret, `+waits)
	f.run()
	f.keeps()
	f.create(policies, allConfigMaps)
	f.wantStatus("all", "True", "all rules are in force")
	root := f.await("ending/configmaps", "kube-root-ca.crt")
	wantRefused := func(what string) {
		t.Helper()
		if got := outcome(f.judgedObject("ending/configmaps", root)); !strings.Contains(got, "of policy all keeps it") {
			t.Errorf("%s: %s", what, got)
		}
	}
	wantRefused("before the namespace is deleted")
	wantOK(t, "the namespace", f.remove("namespaces", "ending"))
	waittest.Until(t, "the guard knows that the namespace is terminating", func() bool { return f.judgedObject("ending/configmaps", root) == nil })
	root.SetName("another")
	wantRefused("another object of a terminating namespace")

	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: late}}`)
	f.create(policies, `{apiVersion: guard.holdfast.dev/v1alpha1, kind: ImmutabilityPolicy, metadata: {name: late}, `+
		`spec: {resources: [secrets], rules: [no-delete], objectSelector: {matchLabels: {keep: "yes"}}}}`)
	f.wantStatus("late", "True", "all rules are in force")
	f.create("late/secrets", `{apiVersion: v1, kind: Secret, `+waits)
	wantOK(t, "the namespace", f.remove("namespaces", "late"))
	wantOK(t, "the label", f.patch("late/secrets", "waits", `{metadata: {labels: {keep: "yes"}}}`))
	waittest.Until(t, "the API server asks about the namespace", func() bool { return strings.Contains(f.webhooks("namespaces/finalize"), "held") })
	// The condition of the namespace changes, so an update may meet another version.
	waittest.Until(t, "the last finalizer stays", func() bool {
		found := f.await("namespaces", "late")
		found.Object["spec"] = map[string]any{"finalizers": []any{}}
		_, err := f.of("namespaces").Update(t.Context(), found, metav1.UpdateOptions{}, "finalize")
		if err == nil {
			t.Fatal("the namespace lost its finalizer")
		}
		return strings.Contains(err.Error(), "denied the request: ") && strings.Contains(err.Error(), "it holds 1 object that must be kept")
	})
}

// TestUnlistedObjects checks that the guard does not take objects that it cannot list for objects that do not exist.
func TestUnlistedObjects(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.account = true
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: full, annotations: {holdfast.dev/keep: while-objects}}}`)
	f.create("full/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s}}`)
	f.run()
	f.guarded("*/*")
	if got := outcome(f.judged("namespaces", "full")); !strings.HasPrefix(got, "ServiceUnavailable: ") || !strings.Contains(got, guard.ReaderLabel) {
		t.Errorf("a namespace with a Secret: %s", got)
	}

	f.keeps()
	f.create(definitions, annotated("gadgets", "no-delete"))
	f.create("default/gadgets.v1.example.com", `{apiVersion: example.com/v1, kind: Gadgets, metadata: {name: g}}`)
	// The server may write a condition of the definition at the same time.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		hidden := f.await(definitions, "gadgets.example.com")
		hidden.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)["served"] = false
		_, err := f.of(definitions).Update(t.Context(), hidden, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the kind is not served", func() bool {
		_, err := f.of("default/gadgets.v1.example.com").List(t.Context(), metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	})
	if got := outcome(f.judged(definitions, "gadgets.example.com")); !strings.HasPrefix(got, "ServiceUnavailable: ") {
		t.Errorf("a definition whose objects are not served: %s", got)
	}
}

// TestKeptReplicaSet checks that the API server asks the guard about a new owner of a kept ReplicaSet: the annotation would have no effect
// on the ReplicaSet of a Deployment.
func TestKeptReplicaSet(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.keeps()
	const sets = "default/replicasets.v1.apps"
	f.create(sets, `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, annotations: {holdfast.dev/keep: always}}, spec: {replicas: 0, `+
		`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.health+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		return countOf(t, request, `holdfast_guard_decisions_total{decision="allowed",group="apps",resource="replicasets",webhook="keep"}`)
	}
	before := count()
	wantOK(t, "a label", f.patch(sets, "r", `{metadata: {labels: {a: b}}}`))
	if got := count() - before; got != 0 {
		t.Errorf("%d reviews of a label", got)
	}
	wantOK(t, "an owner, by a user that may unlock it", f.patch(sets, "r", `{metadata: {ownerReferences: [{apiVersion: apps/v1, kind: Deployment, `+
		`name: d, uid: 1f5b6c4e-0000-4000-8000-000000000000, controller: true}]}}`))
	// The owner does not exist, so the garbage collector may already have asked to delete the ReplicaSet.
	if count() == before {
		t.Error("no review of a new owner")
	}
}
