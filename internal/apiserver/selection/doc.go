// Package selection answers lists and watches of the ConfigMaps and Secrets that a node
// uses. A node uses an object if a pod that is bound to the node names it. Immutable objects
// are not included, because they cannot change.
//
//	all := selection.New(index, selection.Kind{Resource: "configmaps", New: newConfigMap, Fixed: isImmutable})
//	items, version, err := all.List(ctx, "configmaps", selection.Request{Node: "n1"})
//	events := all.Watch(ctx, "configmaps", selection.Request{Node: "n1", Initial: true})
//
// The package uses these words. A stream is the sequence of all changes of one resource, as
// storage reports them. A Selection reads the stream of pods, and one stream for each kind. An
// object enters the selection of a node when the object exists and the node uses it. It leaves
// when either ends, or when the object becomes immutable (fixed). An entry is one such event,
// with the nodes that it concerns. The last entries of a kind are its history.
//
// # Order
//
// All changes are numbered by the revision of etcd. The two streams of a kind, that of its
// objects and that of pods, do not advance at the same speed. Each entry therefore has two
// numbers: the revision of the change that caused it, and a mark, the highest revision that
// either stream had reached by then.
//
// A list returns the highest revision that both streams have reached. Every later entry has a
// higher mark, so a watch that starts from the list misses nothing. It may get events twice
// that came from the stream that was ahead, or from a list that storage made when its watch had
// broken. Behind the first event that it gets again, it also gets all later ones, so that it ends
// with the newest state. A watch from a revision before the history is answered with "resource
// expired", as in Kubernetes.
//
// If a list of storage has shown more changes than the history holds, no watch can resume at its
// revision. Requests then wait until etcd has a higher one, as it has every few seconds, because
// the leader of the controllers renews its Lease.
//
// The marks are those of one server. If its stream of pods is behind, a client can get an event
// of an object with a higher resourceVersion than that stream has reached. If the client then
// resumes at another server, or at the same server after a restart before the next write to etcd,
// it does not get the events of the pods in between. Its next list corrects that.
//
// # Cost
//
// A watch needs a buffer for the objects of its node, and no goroutine. An event needs one
// look-up, and one send for each watch of a node that uses the object. Sending never waits for
// a client: if a client reads too slowly, its watch is closed, and the client can resume it.
// Objects are shared with storage and never changed. All types are safe for concurrent use.
package selection
