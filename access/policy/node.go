package policy

import rbacv1 "k8s.io/api/rbac/v1"

// NodeRules is what some node may do at all. The role of that name is bound to
// nobody: package node allows each of these only for the node's own objects.
func NodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		on(core, "nodes").may("create", "get", "list", "watch", "update", "patch"),
		on(core, "nodes/status").may("update", "patch"),
		on(core, "events").may("create", "update", "patch"),
		on(events, "events").may("create", "update", "patch"),
		on(core, "pods").may("get", "list", "watch", "delete"),
		on(core, "pods/status").may("update", "patch"),
		on(core, "configmaps", "secrets").may(read...),
		on(core, "serviceaccounts/token").may("create"),
		on(certificates, "certificatesigningrequests").may("create", "get", "list", "watch"),
		on(coordination, "leases").may("get", "create", "update", "patch", "delete"),
	}
}
