package views_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"holdfast.dev/holdfast/ownership"
)

var (
	node   = corev1.SchemeGroupVersion.WithKind("Node")
	secret = corev1.SchemeGroupVersion.WithKind("Secret")
)

// changedIn is changedByCommand for other objects than the Deployment.
func changedIn(resource, target, command, field string, values ...string) string {
	x, y, z := values[0], values[1], values[2]
	return fmt.Sprintf("`%s` changed the resource %s field %s value from %s to %s.  This field is managed by `kubectl apply` "+
		"(last set the field to %s), and may be overwritten or cleared the next time `kubectl apply` is run.",
		command, resource, field, x, y, z) + wayOut(target, field, z)
}

// driftedIn is driftedField for other objects than the Deployment.
func driftedIn(resource, field string, values ...string) string {
	x, y, z, last := values[0], values[1], values[2], values[3]
	return fmt.Sprintf("`kubectl apply` is changing the resource %s field %s value from %s to %s.  This field's value does not match "+
		"the last value set by `apply` (%s), and another source may have updated this field.%s", resource, field, x, y, z, last)
}

// zeroOf returns a scenario in which a file sets a field of the Deployment to a zero value, and
// a command sets it to another value.
func zeroOf(file, field, patch, y, z string) scenario {
	return scenario{steps: []step{
		{write: apply(file)},
		{write: apply(file)},
		{
			write:    patchWith("kubectl patch", "kubectl-patch", patch),
			warnings: []string{changedByCommand("kubectl patch", field, "<none>", y, z)},
		},
		{write: edit(patch)},
		{write: apply(file), warnings: []string{driftedField(field, y, "<none>", z, "  Last set by kubectl patch at TIME.")}},
		{write: apply(file)},
	}}
}

// TestZeroScenarios has fields that a file sets to zero or empty values, which the server does
// not store.
func TestZeroScenarios(t *testing.T) {
	const pod = `{"spec":{"template":{"spec":{%s}}}}`
	runScenarios(t, map[string]scenario{
		"paused: false":      zeroOf(web("  paused: false", ""), ".spec.paused", `{"spec":{"paused":true}}`, "true", "false"),
		"minReadySeconds: 0": zeroOf(web("  minReadySeconds: 0", ""), ".spec.minReadySeconds", `{"spec":{"minReadySeconds":5}}`, "5", "0"),
		"a zero that is changed twice": {steps: []step{
			{write: apply(web("  minReadySeconds: 0", ""))},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"minReadySeconds":5}}`),
				warnings: []string{changedByCommand("kubectl patch", ".spec.minReadySeconds", "<none>", "5", "0")},
			},
			{
				// To undo, the field goes back to 0, and not to 5.
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"minReadySeconds":6}}`),
				warnings: []string{changedByCommand("kubectl patch", ".spec.minReadySeconds", "5", "6", "0")},
			},
		}},
		"minReadySeconds: null": zeroOf(web("  minReadySeconds: null", ""), ".spec.minReadySeconds",
			`{"spec":{"minReadySeconds":5}}`, "5", "<none>"),
		"args: []": zeroOf(web("", "        args: []"), args, container(`{"name":"web","args":["-v"]}`), `["-v"]`, "[]"),
		"value of env": zeroOf(web("", `        env: [{name: A, value: ""}]`), env+`[name="A"].value`,
			container(`{"name":"web","env":[{"name":"A","value":"x"}]}`), `"x"`, `""`),
		"hostNetwork: false": zeroOf(web("", "      hostNetwork: false"), ".spec.template.spec.hostNetwork",
			fmt.Sprintf(pod, `"hostNetwork":true`), "true", "false"),
		"tolerations: []": zeroOf(web("", "      tolerations: []"), ".spec.template.spec.tolerations",
			fmt.Sprintf(pod, `"tolerations":[{"operator":"Exists"}]`), `[{"operator":"Exists"}]`, "[]"),
		"cordon of a Node": {kind: node, steps: []step{
			{write: apply("{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {unschedulable: false}}")},
			{
				write:    patchWith("kubectl cordon", "kubectl-cordon", `{"spec":{"unschedulable":true}}`),
				warnings: []string{changedIn("Node/n1", "node/n1", "kubectl cordon", ".spec.unschedulable", "<none>", "true", "false")},
			},
			{write: patchWith("kubectl uncordon", "kubectl-cordon", `{"spec":{"unschedulable":null}}`)},
		}},
		"ingress: [] of a NetworkPolicy": {kind: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), steps: []step{
			{write: apply("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p}, spec: {podSelector: {}, ingress: []}}")},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"ingress":[{}]}}`),
				warnings: []string{changedIn("networking.k8s.io/NetworkPolicy/p", "networkpolicy.networking.k8s.io/p", "kubectl patch",
					".spec.ingress", "<none>", "[{}]", "[]")},
			},
		}},
		"an empty map owns no key": {steps: []step{
			{write: apply(web("", "      affinity: {}\n      securityContext: {}"))},
			{write: patchWith("kubectl patch", "kubectl-patch", fmt.Sprintf(pod, `"securityContext":{"runAsUser":1}`))},
			{
				write:  apply(web("", "      affinity: {}\n      securityContext: {}")),
				stored: `{spec: {template: {spec: {securityContext: {runAsUser: 1}}}}}`,
			},
		}},
		"an object of empty fields": {steps: []step{
			{write: apply(web("", "        lifecycle: {preStop: {exec: {command: []}}}"))},
			{
				write: patchWith("kubectl patch", "kubectl-patch", container(`{"name":"web","lifecycle":null}`)),
				warnings: []string{strings.Replace(changedByCommand("kubectl patch", `.spec.template.spec.containers[name="web"].lifecycle`,
					`{"preStop":{"exec":{}}}`, "<none>", `{"preStop":{"exec":{"command":[]}}}`),
					`back to {"preStop":{"exec":{"command":[]}}}`, `back to {"preStop":{"exec":{}}}`, 1)},
			},
		}},
		"labels: {x: null}": {kind: node, steps: []step{
			{write: apply("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {x: null}}}")},
			{write: apply("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {x: null}}}")},
			{
				write:    patchWith("kubectl label", "kubectl-label", `{"metadata":{"labels":{"x":"1","free":"2"}}}`),
				warnings: []string{changedIn("Node/n1", "node/n1", "kubectl label", ".metadata.labels.x", "<none>", `"1"`, "<none>")},
			},
			{
				write:    apply("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {x: null}}}"),
				warnings: []string{driftedIn("Node/n1", ".metadata.labels.x", `"1"`, "<none>", "<none>", "  Last set by kubectl label at TIME.")},
				stored:   `{metadata: {labels: {x: null, free: "2"}}}`,
			},
		}},
		"null in a custom resource": {kind: widget, steps: []step{
			{write: apply("{apiVersion: example.dev/v1, kind: Widget, metadata: {name: w}, spec: {size: null, parts: []}}")},
			{write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"size":1}}`)},
			{
				write:  apply("{apiVersion: example.dev/v1, kind: Widget, metadata: {name: w}, spec: {size: null, parts: []}}"),
				stored: "{spec: {size: 1}}",
			},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"parts":null}}`),
				warnings: []string{changedIn("example.dev/Widget/w", "Widget.example.dev/w", "kubectl patch", ".spec.parts", "[]", "<none>", "[]")},
			},
		}},
	})
}

// TestValueScenarios has scenarios about values that are equal in different forms.
func TestValueScenarios(t *testing.T) {
	service := corev1.SchemeGroupVersion.WithKind("Service")
	const sources = `.spec.template.spec.volumes[name="v"].projected.sources`
	const stored, written = `[{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldP…`,
		`[{"downwardAPI":{"items":[{"fieldRef":{"fieldPath":"metadata.nam…`
	const ports = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}"
	runScenarios(t, map[string]scenario{
		"the file does not set targetPort": {kind: service, steps: []step{
			{write: apply(ports)},
			{write: edit(`{"spec":{"ports":[{"port":80,"targetPort":8080}]}}`)},
			{write: apply(ports), stored: "{spec: {ports: [{targetPort: 8080}]}}"},
			{
				write:    edit(`{"spec":{"ports":[{"port":80,"$patch":"delete"}]}}`),
				rejected: []string{rejectedEdit("spec.ports", `[{"port":80,"protocol":"TCP","targetPort":8080}]`, "<none>", `[{"port":80}]`)},
			},
		}},
		"a repair is no change": {steps: []step{
			{write: apply(web("  replicas: 2", "        args: [a]"))},
			{write: scale(3), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "2", "3", "2")}},
			{write: scale(2)},
			{write: scale(3), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "2", "3", "2")}},
			{write: edit(`{"spec":{"replicas":2}}`), stored: "{spec: {replicas: 2}}"},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", container(`{"name":"web","args":null}`)),
				warnings: []string{changedByCommand("kubectl patch", args, `["a"]`, "<none>", `["a"]`)},
			},
			{write: edit(container(`{"name":"web","args":["a"]}`))},
		}},
		"defaults that other managers set": {steps: []step{
			{write: func(w *simulation) []string {
				return w.apply(ownership.Request{Command: "kubectl create", FieldManager: "kubectl-create", User: "jane"}, web("", ""))
			}},
			{write: apply(web("  replicas: 3\n  revisionHistoryLimit: 3", "        imagePullPolicy: Always"))},
		}},
		"defaults inside of a list": {steps: []step{
			{write: apply(web("", "      topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]\n"+
				"      volumes: [{name: v, projected: {sources: [{downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.name}}]}}]}}]"))},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"spec":{"template":{"spec":{"volumes":[{"name":"v",`+
					`"projected":{"sources":[{"secret":{"name":"s"}}]}}]}}}}`),
				warnings: []string{strings.Replace(changedByCommand("kubectl patch", sources, stored, `[{"secret":{"name":"s"}}]`, written),
					"back to "+written, "back to "+stored, 1)},
			},
			{write: edit(`{"spec":{"template":{"spec":{"volumes":[{"name":"v","projected":{"sources":` +
				`[{"downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.name"}}]}}]}}]}}}}`)},
		}},
		"an older version": {steps: []step{
			{write: apply(web("  replicas: 2", ""))},
			{write: patchWith("kubectl apply set-last-applied", "", `{"metadata":{"annotations":{"`+ownership.LastApplied+`":`+
				`"{\"apiVersion\":\"extensions/v1beta1\",\"kind\":\"Deployment\",\"spec\":{\"replicas\":2,\"paused\":false}}"}}}`)},
			{write: scale(3), warnings: []string{changedByCommand("kubectl scale", ".spec.replicas", "2", "3", "2")}},
		}},
		"stringData": {kind: secret, steps: []step{
			{write: apply("{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: x, empty: \"\"}}")},
			{write: apply("{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: x, empty: \"\"}}")},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"data":{"empty":"eQ=="}}`),
				warnings: []string{changedIn("Secret/s", "secret/s", "kubectl patch", ".data.empty", "<redacted>", "<redacted>", "<redacted>")},
			},
		}},
		"an empty map of server-side apply owns no key": {steps: []step{
			{write: applyServerSide("ci", false, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {}}}")},
			{write: patchWith("kubectl label", "kubectl-label", `{"metadata":{"labels":{"free":"1"}}}`)},
			{write: patchWith("kubectl label", "kubectl-label", `{"metadata":{"labels":{"free":null}}}`)},
		}},
		"the manager of the annotation owns one key": {steps: []step{
			{write: applyServerSide("ci", false, web("  replicas: 2", ""))},
			{write: applyServerSide("kubectl-last-applied", false, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, "+
				"annotations: {kubectl.kubernetes.io/last-applied-configuration: \"{}\"}}}")},
			{write: patchWith("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"note":"mine"}}}`)},
			{write: patchWith("kubectl annotate", "kubectl-annotate", `{"metadata":{"annotations":{"note":null}}}`)},
		}},
	})
}
