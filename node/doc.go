// Package node is the agent of a host: it follows the pods bound to its node and
// keeps their ConfigMap, Secret, downward API and projected volumes as files. It
// runs no containers; it is the volume half of a kubelet.
//
//	client, err := node.Connect(config, nil)
//	agent, err := node.New(node.Config{Client: client, Name: "host-1", Root: "/run/holdfast"})
//	err = agent.Run(ctx)
//
// Its words: an object is a ConfigMap or Secret; a record is what is remembered
// of a pod, on disk; an object is pinned for a pod when it was immutable as the
// pod got it: from then on the pod has that content, whatever becomes of the name.
// A mutable object is followed: by one watch for all of a kind, which the server
// narrows to what the node uses, or, where the server does not know that selector,
// by a watch for each.
//
// Promises: an immutable object is read once and never watched; what a pod was
// given is remembered before it is given; files that are good stay when something
// cannot be read; nothing global, so that many agents run in one process, with
// their volumes and memory wherever Config says.
package node
