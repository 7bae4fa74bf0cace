package guard_test

import (
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/othercluster/guard"
)

const cratesDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crates, kind: Crate}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              once: {type: string}
              noset: {type: string}
              nounset: {type: string}
              nomodify: {type: string}
              set: {type: string}
              keys: {type: object, additionalProperties: {type: string}}
              add: {type: object, additionalProperties: {type: string}}
              remove: {type: object, additionalProperties: {type: string}}
              size: {type: string}
              engine: {type: string}
              zone: {type: string}
          status: {type: object, properties: {phase: {type: string}}}
`

// TestRules checks the constraints, conditions and rights of the rule language, and rules about labels and annotations.
func TestRules(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(definitions, cratesDefinition)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: crates}
spec:
  resources: [crates.example.com]
  rules:
  - set-once spec.once
  - no-set spec.noset
  - no-unset spec.nounset
  - no-modify spec.nomodify
  - update=NoSet,NoModify spec.set
  - immutable-keys spec.keys
  - addition-only spec.add
  - deletion-only spec.remove
  - immutable spec.size unless resize
  - immutable spec.engine while has(oldSelf.status) && oldSelf.status.phase == "Ready"
  - immutable spec.zone unless move while oldSelf.status.phase == "Ready"
  - immutable metadata.labels["team"]
  - addition-only metadata.annotations
`)
	const crates = "default/crates.v1.example.com"
	f.create(crates, `{apiVersion: example.com/v1, kind: Crate, metadata: {name: c, labels: {team: blue}, annotations: {a: "1"}}, spec: {nounset: x, `+
		`nomodify: x, set: x, keys: {a: "1"}, add: {a: "1"}, remove: {a: "1", b: "2"}, size: L, engine: fast, zone: north}}`)
	f.wantStatus("crates", "True", "all rules are in force")
	f.asks(crates, "c", `{spec: {nomodify: z}}`)
	f.grant("ann", "get", "patch")
	f.grant("bob", "patch", "resize", "move")
	ann, bob := f.as("ann"), f.as("bob")
	const prefix = `BadRequest: admission webhook "immutable.guard.holdfast.dev" denied the request: Crate.example.com "c" cannot be changed this way: `
	const forbids = ", which policy crates forbids"
	for _, step := range []struct {
		by          *fixture
		patch, want string
		subresource []string
	}{
		{by: ann, patch: `{spec: {once: a}}`, want: "ok"},
		{by: ann, patch: `{spec: {once: b}}`, want: `spec.once: field is immutable once set: changed from "a" to "b"`},
		{by: ann, patch: `{spec: {once: null}}`, want: `spec.once: field is immutable once set: removed "a"`},
		{by: ann, patch: `{spec: {noset: a}}`, want: `spec.noset: field is immutable`},
		{by: ann, patch: `{spec: {nounset: z}}`, want: "ok"},
		{by: ann, patch: `{spec: {nounset: null}}`, want: `spec.nounset: field is immutable`},
		{by: ann, patch: `{spec: {nomodify: z}}`, want: `spec.nomodify: field is immutable`},
		{by: ann, patch: `{spec: {nomodify: null}}`, want: "ok"},
		{by: ann, patch: `{spec: {nomodify: z}}`, want: "ok"},
		{by: ann, patch: `{spec: {set: z}}`, want: `spec.set: field is immutable`},
		{by: ann, patch: `{spec: {set: null}}`, want: "ok"},
		{by: ann, patch: `{spec: {set: x}}`, want: `spec.set: field is immutable`},
		{by: ann, patch: `{spec: {keys: {a: "2"}}}`, want: "ok"},
		{by: ann, patch: `{spec: {keys: {b: "2"}}}`, want: `spec.keys.b: field is immutable`},
		{by: ann, patch: `{spec: {add: {b: "2"}}}`, want: "ok"},
		{by: ann, patch: `{spec: {add: {a: null}}}`, want: `spec.add.a: field is immutable: addition only: removed "1"`},
		{by: ann, patch: `{spec: {remove: {a: null}}}`, want: "ok"},
		{by: ann, patch: `{spec: {remove: {c: "2"}}}`, want: `spec.remove.c: field is immutable`},
		{by: ann, patch: `{spec: {size: M}}`, want: `spec.size: field is immutable: changed from "L" to "M"` + forbids + ` (a user that may resize it can change it)`},
		{by: ann, patch: `{spec: {engine: safe}}`, want: "ok"},
		{by: ann, patch: `{spec: {zone: south}}`, want: `spec.zone: field is immutable`}, // the condition cannot be evaluated
		{by: f, patch: `{status: {phase: New}}`, subresource: []string{"status"}, want: "ok"},
		{by: ann, patch: `{spec: {zone: south}}`, want: "ok"},
		{by: f, patch: `{status: {phase: Ready}}`, subresource: []string{"status"}, want: "ok"},
		{by: ann, patch: `{spec: {engine: fast}}`, want: `spec.engine: field is immutable while has(oldSelf.status) && oldSelf.status.phase == "Ready": changed from "safe" to "fast"`},
		{by: ann, patch: `{spec: {zone: north}}`, want: `(a user that may move it can change it)`},
		{by: f, patch: `{spec: {engine: fast}, status: {phase: New}}`, want: `spec.engine: field is immutable while`},
		{by: ann, patch: `{metadata: {labels: {team: red}}}`, want: `metadata.labels.team: field is immutable: changed from "blue" to "red"`},
		{by: ann, patch: `{metadata: {labels: {tier: gold}}}`, want: "ok"},
		{by: f, patch: `{metadata: {labels: {team: red}}}`, subresource: []string{"status"}, want: "ok"}, // the status of a custom resource has no labels
		{by: ann, patch: `{metadata: {annotations: {b: "1", holdfast.dev/note: x}}}`, want: "ok"},
		{by: ann, patch: `{metadata: {annotations: {holdfast.dev/note: null}}}`, want: "ok"},
		{by: ann, patch: `{metadata: {annotations: {b: null}}}`, want: `metadata.annotations.b: field is immutable: addition only: removed "1"`},
	} {
		got := step.by.patch(crates, "c", step.patch, step.subresource...)
		if step.want == "ok" && got != "ok" || step.want != "ok" && (!strings.HasPrefix(got, prefix) || !strings.Contains(got, step.want)) {
			t.Errorf("%s: %s, want %s", step.patch, got, step.want)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.health+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	const overridden = `holdfast_guard_decisions_total{decision="overridden",group="example.com",resource="crates",webhook="immutable"}`
	before := countOf(t, request, overridden)
	// Rights. Bob may not get the crate, so his warnings have no values.
	for _, step := range []struct{ patch, want string }{
		{`{spec: {size: M}}`, "spec.size: changed by the right to resize"},
		{`{spec: {zone: north}}`, "spec.zone: changed by the right to move"},
		{`{spec: {size: M}}`, ""},
	} {
		got := bob.patch(crates, "c", step.patch)
		if got != "ok" || strings.Join(bob.warnings.texts, "\n") != step.want {
			t.Errorf("with the right, %s: %s, warnings %q, want %q", step.patch, got, bob.warnings.texts, step.want)
		}
	}
	f.wantCount("writes allowed by a right", countOf(t, request, overridden)-before, 2)
	// The API server itself has every right, and none that lifts a rule.
	found, err := f.of(crates).Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed := found.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, "S", "spec", "size"); err != nil {
		t.Fatal(err)
	}
	for user, allowed := range map[string]bool{"admin": true, "system:apiserver": false} {
		_, answered := f.post(f.address(guard.ImmutableWebhook), &admissionv1.AdmissionRequest{
			UID: "1", Operation: admissionv1.Update, Namespace: "default", Name: "c", Kind: metav1.GroupVersionKind(found.GroupVersionKind()),
			Resource: metav1.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crates"},
			UserInfo: authenticationv1.UserInfo{Username: user, Groups: []string{"system:masters"}}, DryRun: new(true),
			OldObject: runtime.RawExtension{Raw: encode(t, found.Object)}, Object: runtime.RawExtension{Raw: encode(t, changed.Object)},
		})
		if answered == nil || answered.Allowed != allowed {
			t.Errorf("the right of %s: %v", user, answered)
		}
	}
}
