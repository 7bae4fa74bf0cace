package matrix_test

// nodeEscalations are attempts of a node to get at what belongs to another node or to the cluster.
func nodeEscalations(s *setup) map[string]escalation {
	const nodeLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	ownedByShop := "{metadata: {ownerReferences: [{apiVersion: v1, kind: Namespace, name: shop, uid: '" + s.uids["shop"] + "'}]}}"
	return map[string]escalation{
		"node gets another node's secret": {"node", "GET", "$/secrets/foreign", "", "no relationship found"},
		"node watches another node's secret": {
			"node", "GET", "$/secrets?watch=true&fieldSelector=metadata.name%3Dforeign",
			"", "no relationship found",
		},
		"node lists all secrets": {"node", "GET", "/api/v1/secrets", "", "by name or with the field selector"},
		"node lists the secrets that another node uses": {
			"node", "GET", "/api/v1/secrets?fieldSelector=holdfast.dev/used-by-node%3Dn2",
			"", "by name or with the field selector",
		},
		"node changes a secret": {"node", "PATCH", "$/secrets/password", "{metadata: {labels: {a: b}}}", "only reads"},
		"node changes the status of another node's pod": {
			"node", "PATCH", "$/pods/theirs/status",
			"{status: {phase: Failed}}", "no relationship found",
		},
		"node deletes another node's pod": {"node", "DELETE", "$/pods/theirs", "", "no relationship found"},
		"node creates a pod": {
			"node", "POST", "$/pods",
			pod("new", "n1", "foreign"), "can only create mirror pods",
		},
		"node changes its pod": {
			"node", "PATCH", "$/pods/mine",
			"{metadata: {labels: {a: b}}}", "a node only reads, creates and deletes pods",
		},
		"node binds a pod to itself": {
			"node", "POST", "$/pods/theirs/binding",
			"{target: {name: n1}}", "a node has no access to pods/binding",
		},
		"node adds a label with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {labels: {a: b}}}", "may not change the metadata of a pod",
		},
		"node adds an annotation with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {annotations: {a: b}}}", "may not change the metadata of a pod",
		},
		"node adds a finalizer with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {finalizers: [a.example/b]}}", "may not change the metadata of a pod",
		},
		"node adds an owner with the status of a pod": {
			"node", "PATCH", "$/pods/mine/status",
			"{metadata: {ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: '" + s.uids["n1"] + "'}]}}",
			"may not change the metadata of a pod",
		},
		"node adds a protected label to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			"{metadata: {labels: {node-restriction.kubernetes.io/zone: a}}}",
			"is not allowed to modify labels: node-restriction.kubernetes.io/zone",
		},
		"node adds a protected label with the status of its Node": {
			"node", "PATCH", "/api/v1/nodes/n1/status",
			"{metadata: {labels: {node-restriction.kubernetes.io/zone: a}}}",
			"is not allowed to modify labels: node-restriction.kubernetes.io/zone",
		},
		"node adds a role label to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			"{metadata: {labels: {node-role.kubernetes.io/control-plane: ''}}}", "is not allowed to modify labels",
		},
		"node adds a taint to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			"{spec: {taints: [{key: a, effect: NoSchedule}]}}", "is not allowed to modify taints",
		},
		"node adds an owner to its Node": {
			"node", "PATCH", "/api/v1/nodes/n1",
			ownedByShop,
			"is not allowed to modify owner references",
		},
		"node changes another Node": {
			"node", "PATCH", "/api/v1/nodes/n2",
			"{metadata: {labels: {a: b}}}", "cannot read or write other nodes",
		},
		"node creates another Node": {
			"node", "POST", "/api/v1/nodes",
			"{metadata: {name: n3}}", `is not allowed to modify node "n3"`,
		},
		"node changes another node's lease": {
			"node", "PATCH", nodeLeases + "/n2",
			"{spec: {holderIdentity: n1}}", "leases of other nodes",
		},
		"node gets the lease of the controllers": {
			"node", "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/holdfast-controllers",
			"", "a node has a lease in namespace kube-node-lease only",
		},
		"node adds an owner to its lease": {
			"node", "PATCH", nodeLeases + "/n1",
			ownedByShop,
			"is not allowed to modify owner references",
		},
		"node gets a service account": {
			"node", "GET", "$/serviceaccounts/robot",
			"", "no relationship found between node 'n1' and this object",
		},
		"node gets a custom resource": {"node", "GET", "@example.com/widgets/w", "", "a node has no access to widgets"},
		"node lists claims with its field selector": {
			"node", "GET", "/api/v1/persistentvolumeclaims?fieldSelector=spec.nodeName%3Dn1",
			"", "a node may not list persistentvolumeclaims",
		},
		"node lists pods with a negated field selector": {
			"node", "GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn2",
			"", "with the field selector spec.nodeName=n1",
		},
	}
}
