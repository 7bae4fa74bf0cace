package policy

import (
	"maps"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	core           = ""
	apps           = "apps"
	authentication = "authentication.k8s.io"
	authorization  = "authorization.k8s.io"
	autoscaling    = "autoscaling"
	batch          = "batch"
	certificates   = "certificates.k8s.io"
	coordination   = "coordination.k8s.io"
	discovery      = "discovery.k8s.io"
	events         = "events.k8s.io"
	kudo           = "kudo.dev"
	networking     = "networking.k8s.io"
	policies       = "policy"
	rbac           = "rbac.authorization.k8s.io"
)

// selfNodeClient is the role of who renews a node's certificate with that
// certificate, without a person's approval.
const selfNodeClient = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"

// aggregateTo is the label of roles whose rules another one collects.
const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

var (
	read      = []string{"get", "list", "watch"}
	write     = []string{"create", "update", "patch", "delete", "deletecollection"}
	readWrite = append(append([]string{}, read...), write...)
)

// ClusterRoles returns the roles of a new server, each call a fresh copy.
func ClusterRoles() []*rbacv1.ClusterRole {
	roles := []*rbacv1.ClusterRole{
		role("cluster-admin", on("*", "*").may("*"), at("*").may("*")),
		role("system:discovery", at("/livez", "/readyz", "/healthz", "/version", "/version/",
			"/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*").may("get")),
		role("system:basic-user",
			on(authorization, "selfsubjectaccessreviews", "selfsubjectrulesreviews").may("create"),
			on(authentication, "selfsubjectreviews").may("create")),
		role("system:public-info-viewer", at("/livez", "/readyz", "/healthz", "/version", "/version/").may("get")),
		role("system:monitoring", at("/metrics", "/metrics/slis", "/livez", "/readyz", "/healthz", "/livez/*", "/readyz/*", "/healthz/*").may("get")),
		role("system:service-account-issuer-discovery", at("/.well-known/openid-configuration", "/.well-known/openid-configuration/",
			"/openid/v1/jwks", "/openid/v1/jwks/").may("get")),
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
	}
	roles = append(roles, namespaceRoles()...)
	for _, r := range roles {
		r.Annotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}
		labels := map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
		maps.Copy(labels, r.Labels)
		r.Labels = labels
	}
	return roles
}

// namespaceRoles are those for people: admin collects edit, edit collects view,
// and all three collect what others label for them.
func namespaceRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		collecting("admin", "admin", ""),
		collecting("edit", "edit", "admin"),
		collecting("view", "view", "edit"),
		collected("admin",
			on(authorization, "localsubjectaccessreviews").may("create"),
			on(rbac, "roles", "rolebindings").may(readWrite...)),
		collected("edit",
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
			// A package does what its installer may; which packages there are to
			// install is for administrators.
			on(kudo, "instances").may(write...)),
		collected("view",
			on(core, "pods", "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services", "services/status",
				"endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status", "configmaps").may(read...),
			on(core, "limitranges", "resourcequotas", "bindings", "events", "pods/status", "resourcequotas/status",
				"namespaces/status", "replicationcontrollers/status", "pods/log").may(read...),
			// Read in one namespace, this is that namespace and no other.
			on(core, "namespaces").may(read...),
			on(discovery, "endpointslices").may(read...),
			on(apps, "controllerrevisions", "statefulsets", "statefulsets/status", "statefulsets/scale", "daemonsets", "daemonsets/status",
				"deployments", "deployments/status", "deployments/scale", "replicasets", "replicasets/status", "replicasets/scale").may(read...),
			on(autoscaling, "horizontalpodautoscalers", "horizontalpodautoscalers/status").may(read...),
			on(batch, "jobs", "cronjobs", "cronjobs/status", "jobs/status").may(read...),
			on(policies, "poddisruptionbudgets", "poddisruptionbudgets/status").may(read...),
			on(networking, "networkpolicies", "networkpolicies/status", "ingresses", "ingresses/status").may(read...),
			on(kudo, "operators", "operatorversions", "instances").may(read...)),
	}
}

// collecting is a role whose rules are those of the roles labelled for it;
// into is the role that collects this one in turn.
func collecting(name, label, into string) *rbacv1.ClusterRole {
	r := role(name)
	r.AggregationRule = &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{aggregateTo + label: "true"}}},
	}
	if into != "" {
		r.Labels = map[string]string{aggregateTo + into: "true"}
	}
	return r
}

// collected is the role with Kubernetes' own rules of a collecting one.
func collected(into string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := role("system:aggregate-to-"+into, rules...)
	r.Labels = map[string]string{aggregateTo + into: "true"}
	return r
}
