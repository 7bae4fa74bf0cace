// Package scalerun runs a large cluster on one server, and measures the server in phases.
//
//	result, err := scalerun.Run(ctx, scalerun.Options{Side: side.Holdfast("bin/holdfast"), Dir: dir}, scalerun.Full())
//
// Its words:
//
//   - A node is simulated: it has a Node, a Lease, a credential, a connection, and a watch of its pods. It writes its Lease every ten
//     seconds and its status every five minutes. It reports each of its pods as running, reads the ConfigMaps and Secrets that the pods
//     name, and watches those that are mutable, one watch for each, as a kubelet does.
//   - A creator is a client that creates pods and binds them to nodes, in the place of the controllers and the scheduler.
//   - A reader is a client that watches all pods and nodes, as the scheduler and the controllers do.
//   - A phase is a part of the run: the nodes join, the pods start, nothing changes, a part of the pods is replaced, the server is
//     killed and starts again, and a part of the nodes is lost.
//   - The lag of an event is the time from the start of the request that made a change until the event arrived. The client that sends
//     the request is in the same process as the watch, so both times are of one clock.
//   - The service levels are those of Kubernetes: 99 of 100 requests for a single object take at most 1 s, and 99 of 100 lists 30 s.
//
// A watch continues where it ended if the server lets it, and begins with all objects otherwise. It ends after five to ten minutes, as
// the watches of client-go do.
//
// The client asks for JSON, reads no more of an answer than it needs, and states its own CPU time: a run whose client takes as much as
// the server measures the client. The run adds no pods when the machine has less memory than Settings.Spare left, and says so.
package scalerun
