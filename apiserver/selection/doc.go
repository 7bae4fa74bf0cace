// Package selection answers lists and watches of the objects that a node uses:
// those of a kind, ConfigMaps or Secrets, that a pod bound to the node names,
// and that may still change.
//
//	all := selection.New(index, selection.Kind{Resource: "configmaps", New: newConfigMap, Fixed: isImmutable})
//	items, version, err := all.List(ctx, "configmaps", selection.Request{Node: "n1"})
//	events := all.Watch(ctx, "configmaps", selection.Request{Node: "n1", Initial: true})
//
// Its words: a stream is all changes of one resource, in order, as storage
// reports them; a Selection follows that of pods and one for each kind. An
// object enters a node's selection when both are there, its use and the object;
// it leaves with either, or when it becomes fixed. An entry is one such event
// with the nodes it concerns; the last entries of a kind are its history.
//
// # Order
//
// All streams count their changes by one number, the revision of the store, but
// do not arrive in the order of it. So an entry has, beside the revision of its
// cause, a mark: the highest revision of either stream at that time. A list is
// given the lowest that both streams have reached; whatever is entered after it
// has a higher mark, so a watch that starts from the list misses nothing. It may
// see again what came from the stream that was ahead. A version that is older
// than the history is refused as expired, as Kubernetes does.
//
// # Promises
//
// A watch costs a buffer for what its node uses, and no goroutine. An event
// costs one look-up and one send for each watch of a node that uses the object,
// whatever else is watched. Nothing waits for a client: who reads too slowly is
// ended, and can resume from where they were. Objects are shared with storage
// and never written to. All of it is safe for concurrent use.
package selection
