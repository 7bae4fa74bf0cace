package policy

import rbacv1 "k8s.io/api/rbac/v1"

// systemControllers returns the roles of the controllers of namespaces, nodes, accounts and certificates.
func systemControllers() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		silent("namespace-controller",
			on(core, "namespaces").may("get", "list", "watch", "delete"),
			on(core, "namespaces/finalize", "namespaces/status").may("update"),
			on("*", "*").may("get", "list", "watch", "delete", "deletecollection")),
		controller("generic-garbage-collector",
			on("*", "*").may("get", "list", "watch", "update", "patch", "delete")),
		controller("resourcequota-controller",
			on("*", "*").may("list", "watch"),
			on(core, "resourcequotas/status").may("update")),
		controller("node-controller",
			on(core, "nodes").may("get", "list", "watch", "update", "patch", "delete"),
			on(core, "nodes/status", "pods/status").may("update", "patch"),
			on(core, "pods").may("get", "list", "watch", "delete")),
		controller("ttl-controller", on(core, "nodes").may("list", "watch", "update", "patch")),
		silent("pod-garbage-collector",
			on(core, "pods").may("list", "watch", "delete"),
			on(core, "nodes").may(read...),
			on(core, "pods/status").may("patch")),
		controller("service-account-controller", on(core, "serviceaccounts").may("create")),
		silent("legacy-service-account-token-cleaner",
			on(core, "configmaps").named("kube-apiserver-legacy-service-account-token-tracking").may("get"),
			on(core, "secrets").may("patch", "delete")),
		controller("root-ca-cert-publisher", on(core, "configmaps").may("create", "update")),
		controller("certificate-controller",
			on(certificates, "certificatesigningrequests").may("get", "list", "watch", "delete"),
			on(certificates, "certificatesigningrequests/approval", "certificatesigningrequests/status").may("update"),
			on(certificates, "signers").named("kubernetes.io/kube-apiserver-client-kubelet").may("approve"),
			on(certificates, "signers").named("kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet",
				"kubernetes.io/kubelet-serving", "kubernetes.io/legacy-unknown").may("sign"),
			on(authorization, "subjectaccessreviews").may("create")),
		silent("clusterrole-aggregation-controller",
			on(rbac, "clusterroles").may("get", "list", "watch", "update", "patch", "escalate")),
		controller("validatingadmissionpolicy-status-controller",
			on(admission, "validatingadmissionpolicies").may(read...),
			on(admission, "validatingadmissionpolicies/status").may("get", "update", "patch")),
		silent("storage-version-migrator-controller",
			on("*", "*").may("list", "create", "patch"),
			on(extensions, "customresourcedefinitions").may("get"),
			on(extensions, "customresourcedefinitions/status").may("patch"),
			on(migrations, "storageversionmigrations/status").may("update")),
	}
}
