// Package node limits what nodes may do, to the rights of a kubelet in Kubernetes. A node may
// watch the pods that are bound to it, write the status of these pods, delete and evict
// these pods, and request tokens for their service accounts. It may read the ConfigMaps,
// Secrets and claims that these pods use, and the volumes behind the claims. It maintains its
// own Node, CSINode, ResourceSlices and Lease. For other resources, such as Services, the
// rules of the ClusterRole system:node apply.
//
//	index := &node.Index{} // the watcher of pods calls Set, Remove and Replace
//	relations, err := node.NewRelations(informers)
//	authorizer := node.NewAuthorizer(index, relations)
//
// A node is a user named system:node:NAME in the group system:nodes. A node uses an
// object if a pod that is bound to the node refers to the object. The authorizer
// decides with the attributes of the request and the index; it does not see the body.
// The plugin of package admission/noderestriction also compares the object before and after the write.
//
// The index is updated with each change of a pod. A query is one map lookup, however
// many pods there are. Each server has an index of its own. A node that learns of a
// pod from one server can therefore be refused by another server that has not yet
// seen the pod; the node has to retry.
package node
