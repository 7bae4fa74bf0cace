package node

import (
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// judge returns the reason why the node may not make the request, or "" if it may.
func (n *Authorizer) judge(node string, a authorizer.Attributes) string {
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	switch a.GetAPIGroup() {
	case corev1.GroupName:
		switch resource {
		case "configmaps", "secrets":
			return n.judgeObject(node, a)
		case "serviceaccounts/token":
			return n.judgeToken(node, a)
		case "pods", "pods/status":
			return n.judgePod(node, resource, a)
		case "nodes", "nodes/status":
			return judgeNode(node, resource, a)
		case "events":
			return only(a, "create", "update", "patch")
		}
	case eventsv1.GroupName:
		if resource == "events" {
			return only(a, "create", "update", "patch")
		}
	case coordinationv1.GroupName:
		if resource == "leases" {
			return judgeLease(node, a)
		}
	case nodev1.GroupName:
		if resource == "runtimeclasses" {
			return only(a, "get", "list", "watch")
		}
	case certificatesv1.GroupName:
		switch resource {
		case "certificatesigningrequests":
			return only(a, "create", "get", "list", "watch")
		case "clustertrustbundles":
			return only(a, "get", "list", "watch")
		}
	}
	return "a node has no access to " + resource
}

// judgeObject judges requests for ConfigMaps and Secrets. A node may read those that
// its pods use: each by its name, or all of them with the field selector UsedByNode.
func (n *Authorizer) judgeObject(node string, a authorizer.Attributes) string {
	switch a.GetVerb() {
	case "get":
	case "list", "watch":
		if selects(a, UsedByNode, node) {
			return ""
		}
	default:
		return "a node only reads " + a.GetResource()
	}
	name := requestedName(a)
	if name == "" || a.GetNamespace() == "" {
		return fmt.Sprintf("a node lists and watches %s by name or with the field selector %s=%s", a.GetResource(), UsedByNode, node)
	}
	if !n.index.Uses(node, Object{Resource: a.GetResource(), Namespace: a.GetNamespace(), Name: name}) {
		return fmt.Sprintf("no relationship found between node '%s' and this object", node)
	}
	return ""
}

// judgeToken judges token requests. The node must have a pod with the service
// account. The admission plugin checks that the token is bound to that pod.
func (n *Authorizer) judgeToken(node string, a authorizer.Attributes) string {
	if refusal := only(a, "create"); refusal != "" {
		return refusal
	}
	if !n.index.Uses(node, Object{Resource: "serviceaccounts", Namespace: a.GetNamespace(), Name: a.GetName()}) {
		return fmt.Sprintf("no relationship found between node '%s' and this object", node)
	}
	return ""
}

// judgePod judges requests for pods. Writes to a pod that the index does not know are
// allowed here, because the index may lag behind: the admission plugin checks the
// node of the stored pod.
func (n *Authorizer) judgePod(node, resource string, a authorizer.Attributes) string {
	if resource == "pods/status" {
		if refusal := only(a, "update", "patch"); refusal != "" {
			return refusal
		}
		return n.judgePodNode(node, a)
	}
	switch a.GetVerb() {
	case "list", "watch":
		if !selects(a, "spec.nodeName", node) {
			return "a node lists and watches pods with the field selector spec.nodeName=" + node
		}
		return ""
	case "get":
		if owner, _ := n.index.NodeOf(a.GetNamespace(), a.GetName()); owner != node {
			return fmt.Sprintf("no relationship found between node '%s' and this object", node)
		}
		return ""
	case "delete":
		return n.judgePodNode(node, a)
	}
	return "a node only reads and deletes pods"
}

// judgePodNode refuses a request for a pod that is bound to another node in the index.
func (n *Authorizer) judgePodNode(node string, a authorizer.Attributes) string {
	if owner, known := n.index.NodeOf(a.GetNamespace(), a.GetName()); known && owner != node {
		return fmt.Sprintf("no relationship found between node '%s' and this object", node)
	}
	return ""
}

// judgeNode judges requests for Node objects. The name of a Node that is created is
// not in the request's attributes; the admission plugin checks it.
func judgeNode(node, resource string, a authorizer.Attributes) string {
	if resource == "nodes/status" {
		if refusal := only(a, "update", "patch"); refusal != "" {
			return refusal
		}
	} else if refusal := only(a, "get", "list", "watch", "create", "update", "patch"); refusal != "" {
		return refusal
	}
	if a.GetVerb() != "create" && requestedName(a) != node {
		return fmt.Sprintf("node '%s' cannot read or write other nodes", node)
	}
	return ""
}

func judgeLease(node string, a authorizer.Attributes) string {
	if refusal := only(a, "get", "create", "update", "patch", "delete"); refusal != "" {
		return refusal
	}
	if a.GetNamespace() != corev1.NamespaceNodeLease {
		return fmt.Sprintf("a node has a lease in namespace %s only", corev1.NamespaceNodeLease)
	}
	if a.GetVerb() != "create" && a.GetName() != node {
		return fmt.Sprintf("node '%s' cannot read or write leases of other nodes", node)
	}
	return ""
}

// only returns a reason to refuse the request unless its verb is one of verbs.
func only(a authorizer.Attributes, verbs ...string) string {
	if slices.Contains(verbs, a.GetVerb()) {
		return ""
	}
	return fmt.Sprintf("a node may not %s %s", a.GetVerb(), a.GetResource())
}

// requestedName returns the object name in the request's path or, for a list or
// watch, in its field selector for metadata.name.
func requestedName(a authorizer.Attributes) string {
	if a.GetName() != "" {
		return a.GetName()
	}
	return selected(a, "metadata.name")
}

func selects(a authorizer.Attributes, field, value string) bool {
	return value != "" && selected(a, field) == value
}

// selected returns the value that the field selector requires for the field. It returns
// "" if the selector requires none or cannot be parsed.
func selected(a authorizer.Attributes, field string) string {
	requirements, err := a.GetFieldSelector()
	if err != nil {
		return ""
	}
	for _, r := range requirements {
		if r.Field == field && (r.Operator == selection.Equals || r.Operator == selection.DoubleEquals) {
			return r.Value
		}
	}
	return ""
}
