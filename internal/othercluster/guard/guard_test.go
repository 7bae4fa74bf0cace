package guard_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/othercluster/guard/setup"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/waittest"
)

// widgetsDefinition is a definition with a scale and a status.
const widgetsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}, note: {type: string}, replicas: {type: integer}}}
          status: {type: object, properties: {phase: {type: string}, replicas: {type: integer}}}
`

// TestPolicies runs a guard for policies about a custom resource and a built-in one. Our server does not
// know the policies, so it behaves like any other API server.
func TestPolicies(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
	f.create(definitions, widgetsDefinition)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: sizes}
spec:
  resources: [widgets.example.com]
  rules: [immutable spec.size, immutable spec.replicas, immutable status.phase]
`)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: workloads}
spec:
  resources: [deployments.apps, leases.coordination.k8s.io]
  rules: [immutable spec.strategy, immutable spec.minReadySecond]
  objectSelector: {matchLabels: {tier: gold}}
`)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: configuration}
spec: {mode: warn, resources: [configmaps], rules: [addition-only data]}
`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: small, replicas: 1}}`)
	if got := f.patch(widgets, "w", `{status: {phase: new}}`, "status"); got != "ok" {
		t.Fatal(got)
	}
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, labels: {tier: NAME}}, ` +
		`spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	for _, name := range []string{"gold", "silver"} {
		f.create("default/deployments.v1.apps", strings.ReplaceAll(deployment, "NAME", name))
	}
	f.create("default/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create("kube-system/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	for _, resource := range []string{"widgets", "widgets/scale", "widgets/status", "deployments", "configmaps"} {
		f.guarded(resource)
	}

	const prefix = `BadRequest: admission webhook "immutable.guard.holdfast.dev" denied the request: `
	const deployments = "default/deployments.v1.apps"
	f.asks(widgets, "w", `{spec: {size: big}}`)
	f.asks(widgets, "w", `{spec: {replicas: 3}}`, "scale")
	f.asks(widgets, "w", `{status: {phase: old}}`, "status")
	f.asks(deployments, "gold", `{spec: {strategy: {type: Recreate, rollingUpdate: null}}}`)
	f.asks("default/configmaps", "c", `{data: {a: null}}`)
	for name, test := range map[string]struct {
		got, want string
	}{
		"a rule": {
			f.patch(widgets, "w", `{spec: {size: big}}`),
			prefix + `Widget.example.com "w" cannot be changed this way: ` +
				`spec.size: field is immutable: changed from "small" to "big", which policy sizes forbids`,
		},
		"no rule": {f.patch(widgets, "w", `{spec: {note: hello}}`), "ok"},
		"scale": {
			f.patch(widgets, "w", `{spec: {replicas: 3}}`, "scale"),
			prefix + `Widget.example.com "w" cannot be changed this way: ` +
				`spec.replicas: field is immutable: changed from 1 to 3, which policy sizes forbids`,
		},
		"scale, unchanged": {f.patch(widgets, "w", `{spec: {replicas: 1}}`, "scale"), "ok"},
		"status": {
			f.patch(widgets, "w", `{status: {phase: old}}`, "status"),
			prefix + `Widget.example.com "w" cannot be changed this way: ` +
				`status.phase: field is immutable: changed from "new" to "old", which policy sizes forbids`,
		},
		"a built-in kind": {
			f.patch(deployments, "gold", `{spec: {strategy: {type: Recreate, rollingUpdate: null}}}`),
			prefix + `Deployment.apps "gold" cannot be changed this way: spec.strategy.rollingUpdate: field is immutable: removed ` +
				`{"maxSurge":"25%","maxUnavailable":"25%"}, which policy workloads forbids; ` +
				`spec.strategy.type: field is immutable: changed from "RollingUpdate" to "Recreate", which policy workloads forbids`,
		},
		"another label":       {f.patch(deployments, "silver", `{spec: {strategy: {type: Recreate, rollingUpdate: null}}}`), "ok"},
		"an excluded place":   {f.patch("kube-system/configmaps", "c", `{data: {a: null}}`), "ok"},
		"scale of a built-in": {f.patch(deployments, "gold", `{spec: {replicas: 3}}`, "scale"), "ok"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %s\nwant %s", name, test.got, test.want)
		}
	}
	if got := f.patch("default/configmaps", "c", `{data: {a: null}}`); got != "ok" ||
		strings.Join(f.warnings.texts, " ") != `data.a: field is immutable: addition only: removed "x", which policy configuration forbids` {
		t.Errorf("warn: %s, %q", got, f.warnings.texts)
	}
	f.wantStatus("workloads", "False", "leases.coordination.k8s.io: this resource is never guarded",
		"spec.minReadySecond: the resource has no such field")
	f.wantStatus("sizes", "True", "all rules are in force")
	f.uninstalled()
}

// wantStatus waits for the condition of a policy.
func (f *fixture) wantStatus(policy, status string, messages ...string) {
	f.Helper()
	waittest.Until(f.T, "status of policy "+policy, func() bool {
		found, err := f.of(policies).Get(f.Context(), policy, metav1.GetOptions{})
		if err != nil {
			f.Fatal(err)
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		if len(conditions) != 1 {
			return false
		}
		condition, _ := conditions[0].(map[string]any)
		text, _ := condition["message"].(string)
		for _, message := range messages {
			if !strings.Contains(text, message) {
				return false
			}
		}
		return condition["status"] == status
	})
}

// uninstalled stops the guard and checks that guarded objects cannot be updated without it. Then it removes
// the guard, and they can.
func (f *fixture) uninstalled() {
	f.Helper()
	f.stop()
	if got := f.patch(widgets, "w", `{spec: {note: again}}`); !strings.HasPrefix(got, "InternalError: ") {
		f.Errorf("without a guard: %s", got)
	}
	var deleted []string
	report := func(outcome installation.Outcome) {
		deleted = append(deleted, outcome.Object.GetKind()+"/"+outcome.Object.GetName())
	}
	if err := setup.Uninstall(f.Context(), f.server.Config(f.T), setup.UninstallOptions{Report: report}); err != nil {
		f.Fatal(err)
	}
	want := "ClusterRoleBinding/holdfast-guard-configuration ValidatingWebhookConfiguration/holdfast-guard"
	if got := strings.Join(deleted, " "); !strings.HasPrefix(got, want) || strings.Contains(got, "CustomResourceDefinition") {
		f.Errorf("deleted %s", got)
	}
	waittest.Until(f.T, "the guard is not asked", func() bool { return f.patch(widgets, "w", `{spec: {size: big}}`) == "ok" })
}
