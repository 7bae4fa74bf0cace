package guard_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestOnHoldfast runs a guard for our own server, which enforces the annotations of definitions itself and keeps the fields that
// they mark. The guard must not refuse what the server keeps, and adds only the rules of policies.
func TestOnHoldfast(t *testing.T) {
	t.Parallel()
	f := startWith(t, apiserver.Config{WithoutPolicies: true})
	isHoldfast, err := guard.IsHoldfast(f.server.Config(t))
	if err != nil || !isHoldfast {
		t.Fatalf("IsHoldfast: %t, %v", isHoldfast, err)
	}
	f.policiesOnly = true
	f.run()
	f.create(definitions, strings.Replace(boatsDefinition, "rigging: {type: string}",
		"rigging: {type: string}\n              keel: {type: string}", 1))
	const v1, v2 = "default/boats.v1.example.com", "default/boats.v2.example.com"
	f.create(v2, `{apiVersion: example.com/v2, kind: Boat, metadata: {name: sloop}, spec: {colour: red, rigging: gaff}}`)
	f.create(v2, `{apiVersion: example.com/v2, kind: Boat, metadata: {name: yawl}, spec: {colour: red, rigging: gaff, keel: fin}}`)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: boats}
spec: {resources: [boats.example.com], rules: ["v2: immutable spec.rigging", "v2: immutable spec.keel", immutable spec.colour]}
`)
	f.create(v2, `{apiVersion: example.com/v2, kind: Boat, metadata: {name: probe}, spec: {keel: k0}}`)
	tries := 0
	waittest.Until(t, "the policy is in force", func() bool {
		tries++
		return f.patch(v2, "probe", fmt.Sprintf(`{spec: {keel: k%d}}`, tries)) != "ok"
	})
	for name, test := range map[string]struct{ resource, boat, patch, want string }{
		"the server keeps the field":   {v1, "sloop", `{metadata: {labels: {a: b}}}`, ""},
		"the server drops the field":   {v1, "yawl", `{metadata: {labels: {a: b}}}`, `spec.keel: field is immutable: removed "fin", which policy boats forbids`},
		"a rule of the policy":         {v1, "sloop", `{spec: {colour: blue}}`, `spec.colour: field is immutable: changed from "red" to "blue", which policy boats forbids`},
		"the server answers by itself": {v2, "sloop", `{spec: {rigging: lug}}`, `spec.rigging: field is immutable: changed from "gaff" to "lug"`},
	} {
		got := f.patch(test.resource, test.boat, test.patch)
		if test.want == "" && got != "ok" || !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	stored, err := f.of(v2).Get(t.Context(), "sloop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rigging, _, _ := unstructured.NestedString(stored.Object, "spec", "rigging"); rigging != "gaff" || stored.GetLabels()["a"] != "b" {
		t.Errorf("stored %v", stored.Object)
	}
	configurations := f.server.Client(t).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	found, err := configurations.Get(t.Context(), guard.Name, metav1.GetOptions{})
	if err != nil || len(found.Webhooks) != 1 || found.Webhooks[0].Name != guard.ImmutableWebhook {
		t.Errorf("webhooks %v, %v", found.Webhooks, err)
	}
	f.auditOnHoldfast()
}

// auditOnHoldfast checks that a definition that our server protects is not reported as not guarded.
func (f *fixture) auditOnHoldfast() {
	f.Helper()
	f.create(definitions, strings.Replace(widgetsDefinition, "{name: widgets.example.com}",
		`{name: widgets.example.com, annotations: {holdfast.dev/immutability: "immutable spec.size"}}`, 1))
	for policiesOnly, want := range map[bool]int{true: 0, false: 1} {
		found, _, err := guard.Audit(f.Context(), guard.Config{Client: f.server.Config(f.T), PoliciesOnly: policiesOnly})
		if err != nil {
			f.Fatal(err)
		}
		reported := 0
		for _, one := range found {
			if one.Rule == "not-guarded" {
				reported++
			}
		}
		if reported != want {
			f.Errorf("audit with policies only: %t: %d resources are not guarded, want %d: %v", policiesOnly, reported, want, found)
		}
	}
}
