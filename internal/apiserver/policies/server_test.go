package policies_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestBuiltIn checks that rules for built-in kinds judge every endpoint that can change an object, from the answer to the policy on.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.create("default/secrets", `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: hidden}}`)
	f.create("default/pods", `{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {a: x}}, spec: {containers: [{name: c, image: i,
  resources: {requests: {cpu: "1"}}}], tolerations: []}}`)
	f.create("default/deployments.v1.apps", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 1,
  selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	f.create("namespaces", `{apiVersion: v1, kind: Namespace, metadata: {name: fixed}}`)
	f.policy("all", `{resources: [configmaps, secrets, pods, deployments.apps, namespaces], rules: [addition-only data, immutable spec.replicas,
  immutable spec.nodeName, immutable status.phase, immutable spec.ephemeralContainers, "immutable spec.containers[*].resources",
  immutable spec.finalizers, "immutable status.conditions"]}`)
	const forbids = ", which policy all forbids"
	f.want("a new key", f.patch(configMaps, "c", `{data: {b: z}}`), "ok")
	f.want("a removed key", f.patch(configMaps, "c", `{data: {a: null}}`),
		`Invalid: ConfigMap "c" is invalid: data.a: Invalid value: null: `)
	f.want("a removed key", f.patch(configMaps, "c", `{data: {a: null}}`), `removed "x"`+forbids)
	if got := f.patch("default/secrets", "s", `{data: null, stringData: null}`); !strings.Contains(got, forbids) || strings.Contains(got, "hidden") ||
		strings.Contains(got, "aGlkZGVu") {
		t.Errorf("a Secret: %s", got)
	}
	f.want("another field", f.patch("default/deployments.v1.apps", "d", `{spec: {paused: true}}`), "ok")
	f.want("a field", f.patch("default/deployments.v1.apps", "d", `{spec: {replicas: 2}}`), "changed from 1 to 2"+forbids)
	f.want("the scale", f.patch("default/deployments.v1.apps", "d", `{spec: {replicas: 2}}`, "scale"), "changed from 1 to 2"+forbids)
	f.want("the status", f.patch("default/pods", "p", `{status: {phase: Running}}`, "status"), forbids)
	f.want("the size", f.patch("default/pods", "p", `{spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}`, "resize"), forbids)
	f.want("a container", f.patch("default/pods", "p", `{spec: {ephemeralContainers: [{name: b, image: b}]}}`, "ephemeralcontainers"), forbids)
	bind := f.server.Client(t).CoreV1().Pods("default").Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"},
	}, metav1.CreateOptions{})
	f.want("the node", outcome(bind), forbids)
	namespace, err := f.server.Client(t).CoreV1().Namespaces().Get(t.Context(), "fixed", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace.Spec.Finalizers = nil
	_, err = f.server.Client(t).CoreV1().Namespaces().Finalize(t.Context(), namespace, metav1.UpdateOptions{})
	f.want("the finalizers", outcome(err), forbids)
	f.create("kube-system/configmaps", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.want("a namespace of the control plane", f.patch("kube-system/configmaps", "c", `{data: null}`), "ok")
	if err := f.of(policies).Delete(t.Context(), "all", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the policy has no effect", func() error { return f.tryPatch(configMaps, "c", `{data: {a: null}}`) })
}

// TestCustom checks rules for custom resources: in every version, in the subresources, and for a kind that is installed later.
func TestCustom(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.policy("widgets", `{resources: [widgets.example.com], rules: [immutable spec.size, immutable spec.replicas, "v1: immutable spec.note",
  immutable status.phase]}`)
	f.wantStatus("widgets", "False", "widgets.example.com: the server does not have this resource")
	f.create(definitions, widgetsDefinition)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: small, note: a, replicas: 1}}`)
	const v2 = "default/widgets.v2.example.com"
	const refused, forbids = `BadRequest: Widget.example.com "w" cannot be changed this way: `, ", which policy widgets forbids"
	f.want("a field", f.patch(widgets, "w", `{spec: {size: big}}`), refused+"spec.size: ")
	f.want("a field", f.patch(widgets, "w", `{spec: {size: big}}`), `changed from "small" to "big"`+forbids)
	f.want("another version", f.patch(v2, "w", `{spec: {size: big}}`), forbids)
	f.want("a version without the field", f.patch(v2, "w", `{metadata: {labels: {a: b}}}`), `removed "a"`+forbids)
	f.want("the scale", f.patch(widgets, "w", `{spec: {replicas: 3}}`, "scale"), forbids)
	f.want("the first status", f.patch(widgets, "w", `{status: {phase: Pending}}`, "status"), "ok")
	f.want("the status", f.patch(widgets, "w", `{status: {phase: Ready}}`, "status"), forbids)
	f.want("labels", f.patch(widgets, "w", `{metadata: {labels: {a: b}}}`), "ok")
	f.wantStatus("widgets", "True", "all rules are in force")
}

// TestRestart checks that no update passes before the stored policies are in force.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := start(t, apiserver.Config{DataDir: dir})
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.policy("data", `{resources: [configmaps], rules: [immutable data]}`)
	f.wantStatus("data", "True", "")
	if err := f.server.Stop(); err != nil {
		t.Fatal(err)
	}
	f = start(t, apiserver.Config{DataDir: dir})
	f.want("after a restart", f.patch(configMaps, "c", `{data: {a: z}}`), "which policy data forbids")
}

// TestWrong checks that a policy with a wrong rule is refused with its place, and what no policy can guard.
func TestWrong(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	for spec, want := range map[string]string{
		`{resources: [configmaps], rules: [immutable data, frozen data]}`:                                                                  `spec.rules[1]: Invalid value: "frozen data": `,
		`{resources: [configmaps], structuredRules: [{constraint: frozen, path: data}]}`:                                                   `spec.structuredRules[0].constraint: Invalid value: "frozen": `,
		`{resources: [configmaps, secrets], rules: ["no-delete while oldSelf.data.size() > 0", "immutable data while oldSelf.data == 1"]}`: `spec.rules[1]: Invalid value: "immutable data while oldSelf.data == 1": configmaps: column 14: `,
		`{resources: [configmaps, secrets], rules: ["no-delete while self.size() > 0"]}`:                                                   `spec.rules[0]: `,
		`{resources: [configmaps]}`: `a policy has rules or structuredRules`,
		`{resources: [configmaps], rules: [immutable data], objectSelector: {matchExpressions: [{key: a, operator: Like}]}}`: `spec.objectSelector: Invalid value: `,
	} {
		obj := "{apiVersion: guard.holdfast.dev/v1beta1, kind: ImmutabilityPolicy, metadata: {name: wrong}, spec: " + spec + "}"
		f.want(spec, outcome(f.tryCreate(policies, obj)), want)
	}
	f.policy("never", `{resources: [nodes, leases.coordination.k8s.io], rules: [immutable spec]}`)
	f.wantStatus("never", "False", "nodes: this resource is never guarded")
	err := f.of(definitions).Delete(t.Context(), "immutabilitypolicies.guard.holdfast.dev", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("the kind: %v", err)
	}
}

// TestModes checks that a rule that warns lets the update through, that an Event names the policy, and structured rules.
func TestModes(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}`)
	f.policy("mixed", `{mode: warn, resources: [configmaps], structuredRules: [{constraint: immutable, path: data},
  {constraint: immutable, path: binaryData, mode: enforce}]}`)
	f.want("a rule that warns", f.patch(configMaps, "c", `{data: {a: z}}`), "ok")
	if len(f.warnings.texts) != 1 || !strings.HasSuffix(f.warnings.texts[0], `changed from "x" to "z", which policy mixed forbids`) {
		t.Errorf("warnings %q", f.warnings.texts)
	}
	f.want("a rule that enforces", f.patch(configMaps, "c", `{binaryData: {a: eA==}}`), "which policy mixed forbids")
	waittest.Until(t, "Events about the policy", func() bool {
		events, err := f.server.Client(t).CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var reasons []string
		for i := range events.Items {
			if about := events.Items[i].InvolvedObject; about.Kind == "ImmutabilityPolicy" && about.Name == "mixed" {
				reasons = append(reasons, events.Items[i].Reason)
			}
		}
		return slices.Contains(reasons, "Refused") && slices.Contains(reasons, "Warned")
	})
}

// TestElection checks that a leader election goes on, but only the record of it can change.
func TestElection(t *testing.T) {
	t.Parallel()
	f := start(t, apiserver.Config{})
	const leader = "control-plane.alpha.kubernetes.io/leader"
	f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: e, annotations: {`+leader+`: "a"}}, data: {a: x}}`)
	f.policy("data", `{resources: [configmaps], rules: [immutable data]}`)
	f.want("the record", f.patch(configMaps, "e", `{metadata: {annotations: {`+leader+`: "b"}}}`), "ok")
	f.want("the data", f.patch(configMaps, "e", `{metadata: {annotations: {`+leader+`: "c"}}, data: {a: z}}`), "which policy data forbids")

	f.policy("annotations", `{resources: [configmaps], rules: [immutable metadata.annotations]}`)
	for name, metadata := range map[string]string{"none": `{name: none}`, "another": `{name: another, annotations: {a: x}}`} {
		f.create(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: `+metadata+`, data: {a: x}}`)
		f.want(name+": add the record", f.patch(configMaps, name, `{metadata: {annotations: {`+leader+`: "a"}}}`), "ok")
		f.want(name+": change the record", f.patch(configMaps, name, `{metadata: {annotations: {`+leader+`: "b"}}}`), "ok")
		f.want(name+": another annotation", f.patch(configMaps, name, `{metadata: {annotations: {`+leader+`: "c", a: z}}}`),
			"which policy annotations forbids")
		f.want(name+": remove the record and change a label", f.patch(configMaps, name, `{metadata: {annotations: {`+leader+`: null}, labels: {a: b}}}`),
			"which policy annotations forbids")
		f.want(name+": remove the record", f.patch(configMaps, name, `{metadata: {annotations: {`+leader+`: null}}}`), "ok")
	}
}

func (f *fixture) tryCreate(resource, text string) error {
	f.Helper()
	_, err := f.of(resource).Create(context.WithoutCancel(f.Context()), object(f.TB, text), metav1.CreateOptions{})
	return err
}
