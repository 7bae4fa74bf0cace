package views_test

import (
	"testing"

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
	runScenarios(t, map[string]scenario{
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
