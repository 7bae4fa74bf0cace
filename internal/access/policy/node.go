package policy

import rbacv1 "k8s.io/api/rbac/v1"

// NodeRules returns the rules of the ClusterRole system:node. The binding of the role has
// no subjects, because package access/node authorizes nodes with these rules: for resources
// such as Services they apply as they stand, and for others, such as Secrets, only to the
// objects of the node.
func NodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		on(authentication, "tokenreviews").may("create"),
		on(authorization, "subjectaccessreviews", "localsubjectaccessreviews").may("create"),
		on(core, "services").may(read...),
		on(core, "nodes").may("create", "get", "list", "watch", "update", "patch"),
		on(core, "nodes/status").may("update", "patch"),
		on(core, "events").may("create", "update", "patch"),
		on(events, "events").may("create", "update", "patch"),
		on(core, "pods").may("get", "list", "watch", "create", "delete"),
		on(core, "pods/status").may("update", "patch"),
		on(core, "configmaps", "secrets").may(read...),
		on(core, "pods/eviction").may("create"),
		on(core, "persistentvolumeclaims", "persistentvolumes", "endpoints", "serviceaccounts").may("get"),
		on(core, "persistentvolumeclaims/status").may("get", "update", "patch"),
		on(core, "serviceaccounts/token").may("create"),
		on(certificates, "certificatesigningrequests").may("create", "get", "list", "watch"),
		on(certificates, "clustertrustbundles").may(read...),
		on(coordination, "leases").may("get", "create", "update", "patch", "delete"),
		on(nodes, "runtimeclasses").may(read...),
		on(storage, "volumeattachments").may("get"),
		on(storage, "csidrivers").may(read...),
		on(storage, "csinodes").may("get", "create", "update", "patch", "delete"),
		on(resources, "resourceclaims").may("get"),
		on(resources, "resourceslices").may("deletecollection"),
	}
}
