// Package node says what the credential of a node may do: follow the pods bound
// to it, read the ConfigMaps and Secrets that they use, get tokens for them,
// report on them, and keep its own Node and Lease.
//
//	index := &node.Index{} // whoever follows pods keeps it
//	authorizer := node.NewAuthorizer(index)
//	plugin := node.NewAdmission(pods, client.CoreV1(), audiences)
//
// Its words: a node is a user named system:node:NAME in the group system:nodes,
// as its certificate has it; an object is used by a node when a pod bound to
// that node names it. The authorizer judges by the request, admission by what
// is written and by what was there before.
//
// Promises: the index changes with each pod by what that pod names, and answers
// with one look-up, however many pods there are. It is as old as what keeps it:
// a node that learns of a pod from one server may be refused by another, that
// has not heard of it yet, for that moment, and asks again.
package node
