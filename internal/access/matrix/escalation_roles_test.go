package matrix_test

// roleEscalations are attempts to get permissions through roles and bindings.
func roleEscalations() map[string]escalation {
	const rolebindings = "@rbac.authorization.k8s.io/rolebindings"
	const notHeld = "is attempting to grant RBAC permissions not currently held"
	return map[string]escalation{
		"admin binds cluster-admin in a namespace": {
			"admin", "POST", rolebindings,
			binding("b", "ClusterRole", "cluster-admin", "{kind: User, name: adam}"), notHeld,
		},
		"role writer binds cluster-admin": {
			"role-writer", "POST", rbacPath + "/clusterrolebindings",
			binding("b", "ClusterRole", "cluster-admin", "{kind: User, name: kim}"), notHeld,
		},
		"role writer binds a missing role": {
			"role-writer", "POST", rbacPath + "/clusterrolebindings",
			binding("b", "ClusterRole", "later", "{kind: User, name: kim}"), `not found`,
		},
		"role writer adds a subject to a binding": {
			"role-writer", "PATCH", rbacPath + "/clusterrolebindings/cluster-admin",
			"{subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: kim}]}", notHeld,
		},
		"admin adds rules to a role": {
			"admin", "PATCH", "@rbac.authorization.k8s.io/roles/reader",
			"{rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", notHeld,
		},
		"role writer adds rules to its own role": {
			"role-writer", "PATCH", rbacPath + "/clusterroles/role-writer",
			"{rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}", notHeld,
		},
		"admin creates a role with more rules": {
			"admin", "POST", "@rbac.authorization.k8s.io/roles",
			"{metadata: {name: r}, rules: [{apiGroups: [''], resources: [resourcequotas], verbs: [create]}]}", notHeld,
		},
		"role writer creates a role with the verb escalate": {
			"role-writer", "POST", rbacPath + "/clusterroles",
			"{metadata: {name: r}, rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], " +
				"verbs: [escalate]}]}",
			notHeld,
		},
		"role writer creates an aggregating role": {
			"role-writer", "POST", rbacPath + "/clusterroles",
			"{metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}", "is forbidden",
		},
		"role writer aggregates rules to view": {
			"role-writer", "POST", rbacPath + "/clusterroles",
			"{metadata: {name: r, labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}, " +
				"rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}",
			notHeld,
		},
		"editor creates a binding": {
			"edit", "POST", rolebindings,
			binding("b", "ClusterRole", "admin", "{kind: User, name: ed}"), "cannot create resource",
		},
		"admin creates a binding in another namespace": {
			"admin", "POST", rbacPath + "/namespaces/office/rolebindings",
			binding("b", "ClusterRole", "view", "{kind: User, name: adam}"), "cannot create resource",
		},
		"admin creates a cluster-wide SubjectAccessReview": {
			"admin", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			"{spec: {user: ed, nonResourceAttributes: {verb: get, path: /}}}", "cannot create resource",
		},
		"viewer lists signing requests": {"view", "GET", csrPath, "", "cannot list resource"},
	}
}
