// Package node is the agent that runs on each host. It watches the pods bound to
// its node and writes their ConfigMap, Secret, downward API and projected volumes
// to files. It does the volume work of a kubelet and runs no containers.
//
//	client, err := node.Connect(config, nil)
//	agent, err := node.New(node.Config{Client: client, Name: "host-1", Root: "/run/holdfast"})
//	err = agent.Run(ctx)
//
// Words used in this package:
//
//   - An object is a ConfigMap or a Secret.
//   - A record holds what the agent knows about one pod: the objects that its
//     volumes were made from, and digests of their files. Records are saved on disk.
//   - A pod is pinned to an object that was immutable when the pod got it. The pod
//     keeps that content, even if the object is deleted or created again with other
//     content.
//
// The agent watches mutable objects. A Holdfast server supports a field selector
// that selects the objects used by one node, so one watch for each kind is enough.
// With any other server, the agent opens one watch for each object.
//
// The agent guarantees:
//
//   - It reads an immutable object once and never watches it.
//   - It saves the record of a pod before it changes the files of the pod.
//   - It leaves the files as they are when it cannot read an object.
//   - It has no global state: many agents can run in one process, each with its own
//     Volumes and State.
package node
