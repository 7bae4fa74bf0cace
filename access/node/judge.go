package node

import (
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// judge returns why the node may not do this, or "".
func (n *Authorizer) judge(node string, a authorizer.Attributes) string {
	what := a.GetResource()
	if a.GetSubresource() != "" {
		what += "/" + a.GetSubresource()
	}
	switch a.GetAPIGroup() {
	case corev1.GroupName:
		switch what {
		case "configmaps", "secrets":
			return n.judgeObject(node, a)
		case "serviceaccounts/token":
			return n.judgeToken(node, a)
		case "pods", "pods/status":
			return n.judgePod(node, what, a)
		case "nodes", "nodes/status":
			return judgeOwn(node, what, a)
		case "events":
			return only(a, "create", "update", "patch")
		}
	case eventsv1.GroupName:
		if what == "events" {
			return only(a, "create", "update", "patch")
		}
	case coordinationv1.GroupName:
		if what == "leases" {
			return judgeLease(node, a)
		}
	case certificatesv1.GroupName:
		if what == "certificatesigningrequests" {
			return only(a, "create", "get", "list", "watch")
		}
	}
	return "a node has no access to " + what
}

// judgeObject is about the ConfigMaps and Secrets of the node's pods: each by
// its name, or all of them with the node's selector.
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
	name := named(a)
	if name == "" || a.GetNamespace() == "" {
		return fmt.Sprintf("a node lists and watches %s by name or with the field selector %s=%s", a.GetResource(), UsedByNode, node)
	}
	if !n.index.Uses(node, Object{Resource: a.GetResource(), Namespace: a.GetNamespace(), Name: name}) {
		return fmt.Sprintf("no relationship found between node '%s' and this object", node)
	}
	return ""
}

// judgeToken is about the accounts of the node's pods; admission sees to which
// of the pods the token is bound.
func (n *Authorizer) judgeToken(node string, a authorizer.Attributes) string {
	if refusal := only(a, "create"); refusal != "" {
		return refusal
	}
	if !n.index.Uses(node, Object{Resource: "serviceaccounts", Namespace: a.GetNamespace(), Name: a.GetName()}) {
		return fmt.Sprintf("no relationship found between node '%s' and this object", node)
	}
	return ""
}

// judgePod leaves to admission what it sees better, the pod as it is stored,
// unless the index knows the pod for another node's.
func (n *Authorizer) judgePod(node, what string, a authorizer.Attributes) string {
	if what == "pods/status" {
		if refusal := only(a, "update", "patch"); refusal != "" {
			return refusal
		}
		return n.judgeKnown(node, a)
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
		return n.judgeKnown(node, a)
	}
	return "a node only reads and deletes pods"
}

func (n *Authorizer) judgeKnown(node string, a authorizer.Attributes) string {
	if owner, known := n.index.NodeOf(a.GetNamespace(), a.GetName()); known && owner != node {
		return fmt.Sprintf("no relationship found between node '%s' and this object", node)
	}
	return ""
}

// judgeOwn is about the Node itself. The name of a Node that is created is
// seen by admission.
func judgeOwn(node, what string, a authorizer.Attributes) string {
	if what == "nodes/status" {
		if refusal := only(a, "update", "patch"); refusal != "" {
			return refusal
		}
	} else if refusal := only(a, "get", "list", "watch", "create", "update", "patch"); refusal != "" {
		return refusal
	}
	if a.GetVerb() != "create" && named(a) != node {
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

func only(a authorizer.Attributes, verbs ...string) string {
	if slices.Contains(verbs, a.GetVerb()) {
		return ""
	}
	return fmt.Sprintf("a node may not %s %s", a.GetVerb(), a.GetResource())
}

// named is the one name that a request is about: in its path, or selected.
func named(a authorizer.Attributes) string {
	if a.GetName() != "" {
		return a.GetName()
	}
	return selected(a, "metadata.name")
}

func selects(a authorizer.Attributes, field, value string) bool {
	return value != "" && selected(a, field) == value
}

// selected is the value that a request narrows a field to. A selector that
// cannot be read narrows nothing.
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
