package node

import (
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access/rbac"
)

// judge returns the reason why the node may not make the request, or "" if it may. Like
// Kubernetes, it decides about the resources of its switch by the objects of the node, and
// about all others by the rules of the ClusterRole system:node.
func (n *Authorizer) judge(node string, a authorizer.Attributes) string {
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	switch (schema.GroupResource{Group: a.GetAPIGroup(), Resource: resource}) {
	case corev1.Resource("configmaps"), corev1.Resource("secrets"):
		return n.judgeObject(node, a)
	case corev1.Resource("serviceaccounts/token"):
		return n.judgeUsed(node, a, "create")
	case corev1.Resource("serviceaccounts"), corev1.Resource("persistentvolumeclaims"), resourceResource("resourceclaims"):
		return n.judgeUsed(node, a, "get")
	case corev1.Resource("persistentvolumeclaims/status"):
		return n.judgeUsed(node, a, "update", "patch")
	case corev1.Resource("persistentvolumes"), storagev1.Resource("volumeattachments"):
		return n.judgeRelated(node, a, "get")
	case resourceResource("resourceslices"):
		return n.judgeSlice(node, a)
	case corev1.Resource("pods"), corev1.Resource("pods/status"), corev1.Resource("pods/eviction"):
		return n.judgePod(node, resource, a)
	case corev1.Resource("nodes"), corev1.Resource("nodes/status"):
		return judgeNode(node, resource, a)
	case storagev1.Resource("csinodes"):
		return judgeOwn(node, a)
	case coordinationv1.Resource("leases"):
		if a.GetNamespace() != corev1.NamespaceNodeLease {
			return fmt.Sprintf("a node has a lease in namespace %s only", corev1.NamespaceNodeLease)
		}
		return judgeOwn(node, a)
	}
	return n.judgeOther(resource, a)
}

func resourceResource(resource string) schema.GroupResource {
	return schema.GroupResource{Group: resourcev1.GroupName, Resource: resource}
}

// judgeOther judges requests for the other resources by the rules of the ClusterRole
// system:node, which are the same for every node.
func (n *Authorizer) judgeOther(resource string, a authorizer.Attributes) string {
	if rbac.Allow(n.rules, a) {
		return ""
	}
	for _, rule := range n.rules {
		if slices.Contains(rule.APIGroups, a.GetAPIGroup()) && slices.Contains(rule.Resources, resource) {
			return fmt.Sprintf("a node may not %s %s", a.GetVerb(), a.GetResource())
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
	object := Object{Resource: a.GetResource(), Namespace: a.GetNamespace(), Name: name}
	if !n.index.Uses(node, object) && !n.relations.usesSecret(n.index, node, object) {
		return noRelation(node)
	}
	return ""
}

// judgeUsed judges requests for an object that the pods of a node name. The admission plugin
// checks that a token is bound to such a pod.
func (n *Authorizer) judgeUsed(node string, a authorizer.Attributes, verbs ...string) string {
	if refusal := only(a, verbs...); refusal != "" {
		return refusal
	}
	if !n.index.Uses(node, Object{Resource: a.GetResource(), Namespace: a.GetNamespace(), Name: a.GetName()}) {
		return noRelation(node)
	}
	return ""
}

// judgeRelated judges requests for an object that names the node, or a claim of its pods.
func (n *Authorizer) judgeRelated(node string, a authorizer.Attributes, verbs ...string) string {
	if refusal := only(a, verbs...); refusal != "" {
		return refusal
	}
	if !n.relations.belongs(n.index, node, Object{Resource: a.GetResource(), Name: a.GetName()}) {
		return noRelation(node)
	}
	return ""
}

// judgeSlice judges requests for ResourceSlices. The admission plugin checks the node of a
// slice that is created, and of each slice of a collection that is deleted.
func (n *Authorizer) judgeSlice(node string, a authorizer.Attributes) string {
	switch a.GetVerb() {
	case "create":
		return ""
	case "list", "watch", "deletecollection":
		if !selects(a, resourcev1.ResourceSliceSelectorNodeName, node) {
			return fmt.Sprintf("a node lists and watches resourceslices with the field selector %s=%s",
				resourcev1.ResourceSliceSelectorNodeName, node)
		}
		return ""
	}
	return n.judgeRelated(node, a, "get", "update", "patch", "delete")
}

// judgePod judges requests for pods. Writes to a pod that the index does not know are
// allowed here, because the index may lag behind: the admission plugin checks the
// node of the stored pod, and of a pod that is created.
func (n *Authorizer) judgePod(node, resource string, a authorizer.Attributes) string {
	switch resource {
	case "pods/status":
		if refusal := only(a, "update", "patch"); refusal != "" {
			return refusal
		}
		return n.judgePodNode(node, a)
	case "pods/eviction":
		if refusal := only(a, "create"); refusal != "" {
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
			return noRelation(node)
		}
		return ""
	case "create":
		return ""
	case "delete":
		return n.judgePodNode(node, a)
	}
	return "a node only reads, creates and deletes pods"
}

// judgePodNode refuses a request for a pod that is bound to another node in the index.
func (n *Authorizer) judgePodNode(node string, a authorizer.Attributes) string {
	if owner, known := n.index.NodeOf(a.GetNamespace(), a.GetName()); known && owner != node {
		return noRelation(node)
	}
	return ""
}

func noRelation(node string) string {
	return fmt.Sprintf("no relationship found between node '%s' and this object", node)
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

// judgeOwn judges requests for a kind of which each node has one object, with its own name. The
// admission plugin checks the name of an object that is created.
func judgeOwn(node string, a authorizer.Attributes) string {
	if refusal := only(a, "get", "create", "update", "patch", "delete"); refusal != "" {
		return refusal
	}
	if a.GetVerb() != "create" && a.GetName() != node {
		return fmt.Sprintf("node '%s' cannot read or write %s of other nodes", node, a.GetResource())
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
