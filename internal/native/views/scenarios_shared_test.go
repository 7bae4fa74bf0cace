package views_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"holdfast.dev/holdfast/ownership"
)

// aggregatedRole is a file of a ClusterRole whose rules the controller computes.
const aggregatedRole = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, ` +
	`aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}, rules: []}`

// TestSharedScenarios has scenarios about fields that the file of apply has and apply does not own: a controller computes them, or
// they follow another field.
func TestSharedScenarios(t *testing.T) {
	account := func(name string) operation {
		return patchWith("kubectl set serviceaccount", "kubectl-set", `{"spec":{"template":{"spec":{"serviceAccountName":"`+name+`"}}}}`)
	}
	const path = ".spec.template.spec.serviceAccountName"
	stored := func(name string) string {
		return `{spec: {template: {spec: {serviceAccount: ` + name + `, serviceAccountName: ` + name + `}}}}`
	}
	// changed returns the warning about a key of the map at prefix.
	changed := func(resource, target, field, x, y, z string) string {
		return "`kubectl patch` changed the resource " + resource + " field " + field + " value from " + x + " to " + y +
			".  This field is managed by `kubectl apply` (last set the field to " + z + "), and may be overwritten or cleared the next time " +
			"`kubectl apply` is run." + wayOut(target, field, z)
	}
	keys := func(prefix string) step {
		return step{
			write: patchWith("kubectl patch", "kubectl-patch", nested(prefix, `{"serviceAccount":"b","serviceAccountName":"b"}`)),
			warnings: []string{
				changed("ConfigMap/c", "configmap/c", prefix+".serviceAccount", `"a"`, `"b"`, `"a"`),
				changed("ConfigMap/c", "configmap/c", prefix+".serviceAccountName", `"a"`, `"b"`, `"a"`),
			},
		}
	}
	const both = `{serviceAccount: a, serviceAccountName: a}`
	runScenarios(t, map[string]scenario{
		"keys of a ConfigMap with such names": {kind: configMap, steps: []step{
			{write: apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: ` + both + `}`)}, keys(".data"),
		}},
		"labels with such names": {kind: configMap, steps: []step{
			{write: apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: ` + both + `}}`)}, keys(".metadata.labels"),
		}},
		"annotations with such names": {kind: configMap, steps: []step{
			{write: apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: ` + both + `}}`)}, keys(".metadata.annotations"),
		}},
		"a key whose value is that of the other name": {kind: configMap, steps: []step{
			{write: apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {serviceAccount: a, serviceAccountName: b}}`)},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"data":{"serviceAccount":"b"}}`),
				warnings: []string{changed("ConfigMap/c", "configmap/c", ".data.serviceAccount", `"a"`, `"b"`, `"a"`)},
			},
		}},
		"labels of a pod template": {steps: []step{
			{write: apply(strings.Replace(web("", ""), "    metadata: {labels: {app: web}}",
				"    metadata: {labels: {app: web, serviceAccount: a, serviceAccountName: a}}", 1))},
			{
				write: patchWith("kubectl patch", "kubectl-patch",
					`{"spec":{"template":{"metadata":{"labels":{"serviceAccount":"b","serviceAccountName":"b"}}}}}`),
				warnings: []string{
					changedByCommand("kubectl patch", ".spec.template.metadata.labels.serviceAccount", `"a"`, `"b"`, `"a"`),
					changedByCommand("kubectl patch", ".spec.template.metadata.labels.serviceAccountName", `"a"`, `"b"`, `"a"`),
				},
			},
		}},
		"both addresses of a Service": {kind: corev1.SchemeGroupVersion.WithKind("Service"), steps: []step{
			{write: apply(`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}}`)},
			{
				write:    patchWith("kubectl patch", "kubectl-patch", `{"spec":{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"]}}`),
				warnings: []string{changed("Service/s", "service/s", ".spec.clusterIP", `"10.0.0.1"`, `"10.0.0.2"`, `"10.0.0.1"`)},
			},
		}},
		"both address ranges of a Node": {kind: corev1.SchemeGroupVersion.WithKind("Node"), steps: []step{
			{write: apply(`{apiVersion: v1, kind: Node, metadata: {name: node}, spec: {podCIDR: 10.0.0.0/24, podCIDRs: [10.0.0.0/24]}}`)},
			{
				write:    mergeWith("kubectl patch", "kubectl-patch", `{"spec":{"podCIDR":"10.0.1.0/24","podCIDRs":["10.0.1.0/24"]}}`),
				warnings: []string{changed("Node/node", "node/node", ".spec.podCIDR", `"10.0.0.0/24"`, `"10.0.1.0/24"`, `"10.0.0.0/24"`)},
			},
		}},
		"the rules of an aggregated role": {kind: rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), steps: []step{
			{write: apply(aggregatedRole)},
			{write: patchAs(ownership.Request{FieldManager: "clusterrole-aggregation-controller", User: "system:apiserver"},
				`{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`)},
			{write: apply(aggregatedRole)},
			{write: patchWith("kubectl patch", "kubectl-patch", `{"rules":[{"verbs":["list"],"apiGroups":[""],"resources":["pods"]}]}`)},
			{write: edit(`{"rules":[]}`)},
			{write: applyServerSide("clusterrole-aggregation-controller", true, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, `+
				`metadata: {name: r}, rules: [{verbs: [get], apiGroups: [""], resources: [pods]}]}`)},
			{write: edit(`{"rules":[]}`)},
			{write: applyServerSide("ci", true, aggregatedRole)},
		}},
		"the rules of another role": {kind: rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), steps: []step{
			{write: apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}`)},
			{
				write: patchWith("kubectl patch", "kubectl-patch", `{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`),
				warnings: []string{"`kubectl patch` changed the resource rbac.authorization.k8s.io/ClusterRole/r field .rules value from [] to " +
					`[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}].  ` +
					"This field is managed by `kubectl apply` (last set the field to []), and may be overwritten or cleared the next time " +
					"`kubectl apply` is run." + wayOut("clusterrole.rbac.authorization.k8s.io/r", ".rules", "[]")},
			},
		}},
		"both names of the service account": {steps: []step{
			{write: apply(web("", "      serviceAccount: a\n      serviceAccountName: a")), stored: stored("a")},
			{
				write: account("b"), stored: stored("b"),
				warnings: []string{changedByCommand("kubectl set serviceaccount", path, `"a"`, `"b"`, `"a"`)},
			},
			{
				write: apply(web("", "      serviceAccount: a\n      serviceAccountName: a")), stored: stored("a"),
				warnings: []string{driftedField(path, `"b"`, `"a"`, `"a"`, "  Last set by kubectl set serviceaccount at TIME.")},
			},
		}},
		"the new name of the service account": {steps: []step{
			{write: apply(web("", "      serviceAccountName: a")), stored: stored("a")},
			{
				write: account("b"), stored: stored("b"),
				warnings: []string{changedByCommand("kubectl set serviceaccount", path, `"a"`, `"b"`, `"a"`)},
			},
		}},
		// The next apply sends the old name only, and the new one wins.
		"the old name of the service account": {steps: []step{
			{write: apply(web("", "      serviceAccount: a")), stored: stored("a")},
			{write: account("b"), stored: stored("b")},
			{write: apply(web("", "      serviceAccount: a")), stored: stored("b")},
		}},
	})
}

var configMap = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// nested returns a patch that sets the value at a path such as .data to inner.
func nested(path, inner string) string {
	for _, name := range slices.Backward(strings.Split(path[1:], ".")) {
		inner = `{"` + name + `":` + inner + `}`
	}
	return inner
}
