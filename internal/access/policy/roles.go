package policy

import (
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/operator/authorship"
)

const (
	core           = ""
	admission      = "admissionregistration.k8s.io"
	apps           = "apps"
	authentication = "authentication.k8s.io"
	authorization  = "authorization.k8s.io"
	autoscaling    = "autoscaling"
	batch          = "batch"
	certificates   = "certificates.k8s.io"
	coordination   = "coordination.k8s.io"
	discovery      = "discovery.k8s.io"
	events         = "events.k8s.io"
	extensions     = "apiextensions.k8s.io"
	kudo           = "kudo.dev"
	migrations     = "storagemigration.k8s.io"
	networking     = "networking.k8s.io"
	nodes          = "node.k8s.io"
	policies       = "policy"
	rbac           = "rbac.authorization.k8s.io"
	resources      = "resource.k8s.io"
	storage        = "storage.k8s.io"
)

// selfNodeClient is the ClusterRole that lets a node renew its client certificate.
// The server approves a request for the certificate of a node automatically if the
// requester is that node and has this role.
const selfNodeClient = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"

// aggregateTo is the prefix of labels on ClusterRoles. Followed by the name of a
// role, it makes that role aggregate the rules of the labelled role.
const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

var (
	read      = []string{"get", "list", "watch"}
	write     = []string{"create", "update", "patch", "delete", "deletecollection"}
	readWrite = append(append([]string{}, read...), write...)
)

// ClusterRoles returns the default ClusterRoles, without ControllerRoles. Each call returns new objects.
func ClusterRoles() []*rbacv1.ClusterRole {
	roles := []*rbacv1.ClusterRole{
		role("cluster-admin", on("*", "*").may("*"), at("*").may("*")),
		role("system:discovery", at("/livez", "/readyz", "/healthz", "/version", "/version/",
			"/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*").may("get")),
		role("system:basic-user",
			on(authorization, "selfsubjectaccessreviews", "selfsubjectrulesreviews").may("create"),
			on(authentication, "selfsubjectreviews").may("create")),
		role("system:public-info-viewer", at("/livez", "/readyz", "/healthz", "/version", "/version/").may("get")),
		role("system:monitoring", at("/metrics", "/metrics/slis",
			"/livez", "/readyz", "/healthz", "/livez/*", "/readyz/*", "/healthz/*").may("get")),
		role("system:service-account-issuer-discovery", at("/.well-known/openid-configuration", "/.well-known/openid-configuration/",
			"/openid/v1/jwks", "/openid/v1/jwks/").may("get")),
		role("system:cluster-trust-bundle-discovery", on(certificates, "clustertrustbundles").may(read...)),
		// In Kubernetes this role has all verbs.
		role("system:kubelet-api-admin",
			on(core, "nodes").may(append([]string{"proxy"}, read...)...),
			on(core, "nodes/proxy", "nodes/metrics", "nodes/stats", "nodes/log", "nodes/spec", "nodes/checkpoint", "nodes/configz",
				"nodes/healthz", "nodes/pods").may("get", "list", "watch", "create", "update", "patch", "delete")),
		role("system:auth-delegator",
			on(authentication, "tokenreviews").may("create"),
			on(authorization, "subjectaccessreviews").may("create")),
		role("system:node", NodeRules()...),
		role("system:node-bootstrapper", on(certificates, "certificatesigningrequests").may("create", "get", "list", "watch")),
		role(selfNodeClient, on(certificates, "certificatesigningrequests/selfnodeclient").may("create")),
		role("system:node-problem-detector",
			on(core, "nodes").may("get"), on(core, "nodes/status").may("patch"),
			on(core, "events").may("create", "patch", "update"), on(events, "events").may("create", "patch", "update")),
		role("system:certificates.k8s.io:kube-apiserver-client-approver",
			on(certificates, "signers").named("kubernetes.io/kube-apiserver-client").may("approve")),
		role("system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
			on(certificates, "signers").named("kubernetes.io/kube-apiserver-client-kubelet").may("approve")),
		role("system:certificates.k8s.io:kubelet-serving-approver",
			on(certificates, "signers").named("kubernetes.io/kubelet-serving").may("approve")),
		role(authorship.ControllerUser, operatorRules()...),
	}
	roles = append(roles, namespaceRoles()...)
	roles = append(roles, componentRoles()...)
	return marked(roles)
}

// marked adds the labels and annotations of default roles.
func marked(roles []*rbacv1.ClusterRole) []*rbacv1.ClusterRole {
	for _, r := range roles {
		r.Annotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}
		labels := map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
		maps.Copy(labels, r.Labels)
		r.Labels = labels
	}
	return roles
}

// operatorRules returns the rules of the operator controller. It writes the objects of plans
// with the permissions of other users, so it may impersonate every user.
func operatorRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		on(kudo, "instances").may("get", "list", "watch", "update"),
		on(kudo, "instances/status").may("update"),
		on(kudo, "operatorversions").may("get", "list"),
		on(core, "serviceaccounts").may("get"),
		on(core, "events").may("create", "patch", "update"),
		on(authorization, "subjectaccessreviews").may("create"),
		on(core, "users", "groups", "serviceaccounts").may("impersonate"),
		// uids, and userextras/NAME for every name.
		on(authentication, "*").may("impersonate"),
	}
}

// namespaceRoles returns the ClusterRoles that are meant for RoleBindings. admin
// aggregates edit, and edit aggregates view. Each of the three also aggregates
// other ClusterRoles that have its label.
func namespaceRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		aggregating("admin", ""),
		aggregating("edit", "admin"),
		aggregating("view", "edit"),
		aggregatedTo("admin",
			on(authorization, "localsubjectaccessreviews").may("create"),
			on(rbac, "roles", "rolebindings").may(readWrite...),
			// To change or remove the annotation holdfast.dev/keep of an object.
			on("*", "*").may("unlock")),
		aggregatedTo("edit",
			on(core, "pods/attach", "pods/proxy", "pods/exec", "pods/portforward", "secrets", "services/proxy").may(read...),
			on(core, "serviceaccounts").may("impersonate"),
			on(core, "pods", "pods/attach", "pods/proxy", "pods/exec", "pods/portforward").may(write...),
			on(core, "pods/eviction").may("create"),
			on(core, "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services", "services/proxy",
				"persistentvolumeclaims", "configmaps", "secrets", "events").may(write...),
			on(core, "serviceaccounts/token").may("create"),
			on(apps, "statefulsets", "statefulsets/scale", "daemonsets", "deployments", "deployments/scale",
				"deployments/rollback", "replicasets", "replicasets/scale").may(write...),
			on(autoscaling, "horizontalpodautoscalers").may(write...),
			on(batch, "jobs", "cronjobs").may(write...),
			on(policies, "poddisruptionbudgets").may(write...),
			on(networking, "networkpolicies", "ingresses").may(write...),
			on(coordination, "leases").may(readWrite...),
			on(resources, "resourceclaims", "resourceclaimtemplates").may(write...),
			// The plans of an Instance run with the permissions of the user that wrote
			// it, so editors may write Instances. Only administrators may write
			// Operators and OperatorVersions.
			on(kudo, "instances").may(write...)),
		aggregatedTo("view",
			on(core, "pods", "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services", "services/status",
				"endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status", "configmaps").may(read...),
			on(core, "limitranges", "resourcequotas", "bindings", "events", "pods/status", "resourcequotas/status",
				"namespaces/status", "replicationcontrollers/status", "pods/log").may(read...),
			// In a RoleBinding, this rule allows to read only the Namespace object of
			// the binding's namespace.
			on(core, "namespaces").may(read...),
			on(discovery, "endpointslices").may(read...),
			on(apps, "controllerrevisions", "statefulsets", "statefulsets/status", "statefulsets/scale",
				"daemonsets", "daemonsets/status", "deployments", "deployments/status", "deployments/scale",
				"replicasets", "replicasets/status", "replicasets/scale").may(read...),
			on(autoscaling, "horizontalpodautoscalers", "horizontalpodautoscalers/status").may(read...),
			on(batch, "jobs", "cronjobs", "cronjobs/status", "jobs/status").may(read...),
			on(policies, "poddisruptionbudgets", "poddisruptionbudgets/status").may(read...),
			on(networking, "networkpolicies", "networkpolicies/status", "ingresses", "ingresses/status").may(read...),
			on(resources, "resourceclaims", "resourceclaims/status", "resourceclaimtemplates").may(read...),
			on(kudo, "operators", "operatorversions", "instances").may(read...)),
	}
}

// aggregating returns a ClusterRole that aggregates the roles with its label. The
// role itself is aggregated to the role into, if that is not empty.
func aggregating(name, into string) *rbacv1.ClusterRole {
	r := role(name)
	r.AggregationRule = &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{aggregateTo + name: "true"}}},
	}
	if into != "" {
		r.Labels = map[string]string{aggregateTo + into: "true"}
	}
	return r
}

// aggregatedTo returns the ClusterRole with the default rules of the role into.
func aggregatedTo(into string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := role("system:aggregate-to-"+into, rules...)
	r.Labels = map[string]string{aggregateTo + into: "true"}
	return r
}
