package guard_test

import (
	"errors"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/waittest"
)

const (
	keepPolicy = `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: keep}
spec:
  resources: [configmaps]
  rules: ['no-delete unless retire while oldSelf.data.state == "used"']
  objectSelector: {matchLabels: {keep: "yes"}}
`
	podPolicy = `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: pods}
spec: {resources: [pods], rules: [no-delete], namespaceSelector: {matchLabels: {env: prod}}}
`
	usedConfigMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {keep: "yes"}}, data: {state: used}}`
)

// as returns the fixture with the rights of another user.
func (f *fixture) as(user string) *fixture {
	f.Helper()
	out := *f
	out.warnings = &recorder{}
	config := out.withPatience(f.server.As(f.T, user))
	config.WarningHandler = out.warnings
	var err error
	if out.client, err = dynamic.NewForConfig(config); err != nil {
		f.Fatal(err)
	}
	return &out
}

// wantKept checks that a deletion is refused by a rule.
func wantKept(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, `Conflict: admission webhook "`) || !strings.Contains(got, want) {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func wantOK(t *testing.T, what, got string) {
	t.Helper()
	if got != "ok" {
		t.Errorf("%s: %s", what, got)
	}
}

// TestNoDelete checks the rules no-delete of policies. Our server does not know them here, so every refusal is one of the guard.
func TestNoDelete(t *testing.T) {
	t.Parallel()
	f := start(t)
	for name, labels := range map[string]string{"prod": "{env: prod}", "test": "{}", "later": "{}", "plain": "{}"} {
		f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: `+name+`, labels: `+labels+`}}`)
	}
	for _, name := range []string{"a", "b", "c"} {
		f.create("prod/configmaps", strings.Replace(usedConfigMap, "NAME", name, 1))
	}
	f.create("prod/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}`)
	f.create("plain/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}`)
	f.create("test/configmaps", strings.Replace(usedConfigMap, `NAME, labels: {keep: "yes"}`, "c", 1))
	f.run()
	f.create(policies, keepPolicy)
	f.create(policies, podPolicy)
	f.wantStatus("keep", "True", "all rules are in force")
	f.wantStatus("pods", "True", "all rules are in force")
	f.grant("ann", "get", "patch", "delete", "deletecollection")
	f.grant("bob", "get", "delete", "retire")
	ann, bob := f.as("ann"), f.as("bob")
	waittest.Until(t, "the guard is asked about the deletion of labelled ConfigMaps", func() bool {
		dryRun := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
		return ann.of("prod/configmaps").Delete(t.Context(), "a", dryRun) != nil
	})

	const byRule = `configmaps "a" cannot be deleted: the rule "no-delete unless retire while oldSelf.data.state == \"used\"" of policy keep keeps it; ` +
		`it can be deleted when the condition is not true any more, or by a user that may retire it`
	err := ann.of("prod/configmaps").Delete(t.Context(), "a", metav1.DeleteOptions{})
	wantKept(t, "an object", outcome(err), byRule)
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) != 1 ||
		status.Status().Details.Causes[0].Type != "ObjectKept" || status.Status().Code != 409 {
		t.Errorf("%v has no cause ObjectKept", err)
	}
	wantKept(t, "the namespace", ann.remove("namespaces", "prod"),
		`namespaces "prod" cannot be deleted: it holds 3 objects that must be kept: configmaps/a, configmaps/b, configmaps/c; delete these objects first`)
	wantKept(t, "the namespace, with the right", bob.remove("namespaces", "prod"), "it holds 3 objects that must be kept")
	err = ann.of("prod/configmaps").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "keep=yes"})
	if got := outcome(err); !strings.HasPrefix(got, "Conflict: ") || !strings.Contains(got, "of policy keep keeps it") {
		t.Errorf("a collection: %s", got)
	}
	wantOK(t, "an object without the label", ann.remove("prod/configmaps", "free"))
	wantOK(t, "with the right", bob.remove("prod/configmaps", "a"))
	if got := ann.patch("prod/configmaps", "b", `{metadata: {labels: {keep: null}}}`); !strings.Contains(got, "policy keep would no longer select it") {
		t.Errorf("the label: %s", got)
	}
	wantOK(t, "its data", ann.patch("prod/configmaps", "b", `{data: {state: free}}`))
	wantOK(t, "an object whose condition is not true", ann.remove("prod/configmaps", "b"))
	wantKept(t, "the namespace, again", ann.remove("namespaces", "prod"), "it holds 1 object that must be kept: configmaps/c")

	// Objects that a policy begins to keep protect their namespace at once.
	wantOK(t, "the label", ann.patch("test/configmaps", "c", `{metadata: {labels: {keep: "yes"}}}`))
	wantKept(t, "a namespace whose object gets the label", f.remove("namespaces", "test"), "configmaps/c")
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`
	f.create("prod/pods", pod)
	f.create("later/pods", pod)
	wantOK(t, "the label of a namespace", f.patch("namespaces", "later", `{metadata: {labels: {env: prod}}}`))
	wantKept(t, "a namespace that gets the label", f.remove("namespaces", "later"), "pods/p")
	wantKept(t, "a pod", f.remove("prod/pods", "p"), `pods "p" cannot be deleted: the rule "no-delete" of policy pods keeps it; remove the rule first`)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "prod"}}
	err = f.server.Client(t).PolicyV1().Evictions("prod").Evict(t.Context(), eviction)
	wantKept(t, "an eviction", outcome(err), `pods "p" cannot be deleted: the rule "no-delete" of policy pods keeps it`)

	f.stop()
	for _, test := range []struct {
		what, got string
		ok        bool
	}{
		{"a kept object", ann.remove("prod/configmaps", "c"), false},
		{"its namespace", f.remove("namespaces", "prod"), false},
		{"another object", f.remove("plain/configmaps", "free"), true},
		{"another namespace", f.remove("namespaces", "plain"), true},
	} {
		if (test.got == "ok") != test.ok {
			t.Errorf("without a guard, %s: %s", test.what, test.got)
		}
	}
	f.create("default/configmaps", strings.Replace(usedConfigMap, "NAME", "new", 1))
}

// TestNoDeleteOfDefinition checks the rule no-delete in the annotation of a definition, from the moment when the definition is stored.
func TestNoDeleteOfDefinition(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.keeps()
	f.create(definitions, annotated("widgets", `no-delete while oldSelf.spec.size == "L"`))
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widgets, metadata: {name: large}, spec: {size: L}}`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widgets, metadata: {name: small}, spec: {size: S}}`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widgets, metadata: {name: none}}`)
	const rule = `the rule "no-delete while oldSelf.spec.size == \"L\"" keeps it; `
	wantKept(t, "an object", f.remove(widgets, "large"),
		`widgets.example.com "large" cannot be deleted: `+rule+`it can be deleted when the condition is not true any more`)
	wantKept(t, "an object without the field", f.remove(widgets, "none"), rule+"the condition could not be evaluated: no such key: spec")
	wantKept(t, "the definition", f.remove(definitions, "widgets.example.com"),
		`it holds 2 objects that must be kept: widgets.example.com/large, widgets.example.com/none`)
	wantOK(t, "another object", f.remove(widgets, "small"))
	waittest.Until(t, "the leader has the rules", func() bool { return !strings.Contains(f.webhooks("widgets"), "kept-") })
	wantKept(t, "an object, by the leader", f.remove(widgets, "large"), rule)
	wantOK(t, "the size", f.patch(widgets, "large", `{spec: {size: S}}`))
	wantOK(t, "the size", f.patch(widgets, "none", `{spec: {size: S}}`))
	wantOK(t, "an object whose condition is not true", f.remove(widgets, "large"))
	wantOK(t, "the definition without kept objects", f.remove(definitions, "widgets.example.com"))
}
