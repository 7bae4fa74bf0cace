package policy

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// The users of the stock components. A ClusterRole of the same name has their permissions.
const (
	controllerManager = "system:kube-controller-manager"
	scheduler         = "system:kube-scheduler"
)

// The names of further ClusterRoles of stock components.
const (
	volumeScheduler = "system:volume-scheduler"
	nodeProxier     = "system:node-proxier"
)

// controllerPrefix begins the name of the role of a controller in kube-controller-manager. The rest of the name is that of the
// service account as which the controller runs, in kube-system, with --use-service-account-credentials.
const controllerPrefix = "system:controller:"

// componentRoles returns the roles of the components that Kubernetes has beside the API server.
func componentRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		recording(role(controllerManager,
			on(coordination, "leases").may("create"),
			on(coordination, "leases").named("kube-controller-manager").may("get", "update"),
			on(core, "secrets", "serviceaccounts", "serviceaccounts/token").may("create"),
			on(core, "secrets").may("delete"),
			on(core, "configmaps", "namespaces", "secrets", "serviceaccounts").may("get"),
			on(core, "secrets", "serviceaccounts").may("update"),
			on(authentication, "tokenreviews").may("create"),
			on(authorization, "subjectaccessreviews").may("create"),
			// The controllers share its watches: the garbage collector and the quotas watch every kind.
			on("*", "*").may("list", "watch"))),
		recording(role(scheduler,
			on(coordination, "leases").may("create"),
			on(coordination, "leases").named("kube-scheduler").may("get", "list", "watch", "update"),
			on(core, "nodes", "replicationcontrollers", "services", "persistentvolumeclaims", "persistentvolumes", "namespaces").may(read...),
			on(core, "pods").may("get", "list", "watch", "delete"),
			on(core, "bindings", "pods/binding").may("create"),
			on(core, "pods/status").may("update", "patch"),
			on(core, "pods/finalizers").may("update"),
			on(apps, "replicasets", "statefulsets").may(read...),
			on(policies, "poddisruptionbudgets").may(read...),
			on(authentication, "tokenreviews").may("create"),
			on(authorization, "subjectaccessreviews").may("create"),
			on(storage, "csinodes", "volumeattachments", "csidrivers", "csistoragecapacities").may(read...),
			on(resources, "deviceclasses", "resourceslices").may(read...),
			on(resources, "resourceclaims", "resourceclaims/status").may("get", "list", "watch", "update", "patch"),
			on(resources, "resourceclaims").may("create", "delete"),
			on(resources, "resourceclaims/binding").may("update", "patch"))),
		role(volumeScheduler,
			on(core, "persistentvolumes", "persistentvolumeclaims").may("get", "list", "watch", "update", "patch"),
			on(storage, "storageclasses").may(read...)),
		recording(role(nodeProxier,
			on(core, "endpoints", "services").may("list", "watch"),
			on(core, "nodes").may(read...),
			on(networking, "servicecidrs").may("list", "watch"),
			on(discovery, "endpointslices").may("list", "watch"))),
		role("system:kube-dns", on(core, "endpoints", "services").may("list", "watch")),
		recording(role("system:persistent-volume-provisioner",
			on(core, "persistentvolumes").may("get", "list", "watch", "create", "delete"),
			on(core, "persistentvolumeclaims").may("get", "list", "watch", "update"),
			on(storage, "storageclasses").may(read...),
			on(core, "events").may("watch"))),
	}
}

// ControllerRoles returns the roles of the controllers in kube-controller-manager. Each call returns new objects.
func ControllerRoles() []*rbacv1.ClusterRole {
	return marked(append(append(workloadControllers(), storageControllers()...), systemControllers()...))
}

// ControllerRoleBindings returns the bindings of ControllerRoles to service accounts. Each call returns new objects.
func ControllerRoleBindings() []*rbacv1.ClusterRoleBinding {
	var bindings []*rbacv1.ClusterRoleBinding
	for _, role := range ControllerRoles() {
		bindings = append(bindings, bindAccount(role.Name, strings.TrimPrefix(role.Name, controllerPrefix)))
	}
	return bindings
}

// controller returns the role of a controller that records events.
func controller(account string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return recording(silent(account, rules...))
}

// silent returns the role of a controller that records no events.
func silent(account string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return role(controllerPrefix+account, rules...)
}

// recording adds the permission to record events to a role.
func recording(r *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	for _, group := range []string{core, events} {
		r.Rules = append(r.Rules, on(group, "events").may("create", "update", "patch"))
	}
	return r
}
