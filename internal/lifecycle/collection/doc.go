// Package collection deletes immutable ConfigMaps and Secrets that no object refers to, if their users asked for it.
//
//	err := collection.Run(ctx, collection.Config{Client: client, Informers: factory, Index: index})
//
// An object is selected by the label holdfast.dev/collect: unused. On a namespace, the label selects the members of series in it, see package
// series. A selected object that no object has referred to for some time is marked: it gets the annotation holdfast.dev/unused-since and an
// Event. After a further minute it is deleted. A mark is removed as soon as an object refers to it again, or when it is not to be collected
// any more.
//
// What is never deleted:
//
//   - A mutable object, one that has a controller as owner, and one with the annotation holdfast.dev/keep.
//   - The newest members of a series, three of them by default.
//   - An object in a namespace of which the index does not know all references.
//   - An object that another one refers to. The index is told by watches, which are late. So the controller reads the references again from etcd,
//     and etcd deletes the object only if no reference was stored since, see Index.Unreferenced.
//   - An object that was collected before and that a client has created again, with the same name and content: a tool wants it. It gets the
//     annotation holdfast.dev/recreated. The Secret kube-system/holdfast-collected remembers what was collected. It has no names and no
//     values, but hashes with a random key (HMAC), and 4,096 of them at most. If there are more, the oldest one of the namespace with the
//     most goes, so that one namespace cannot displace the hashes of the others.
//
// The time counts from the start of the leader at the earliest. A mark that an earlier leader set stays, and the minute begins again. Such a
// mark counts only if the managed fields say that the controller set the annotation. From then on, the leader trusts only marks that it set
// itself: a mark that a client sets or changes is no mark, and if a client removes one, the time begins again. So a client cannot make the time
// shorter, except with the annotation holdfast.dev/collect-after.
//
// The controller has a work queue, and a timer for each object that is selected and not referred to. While nothing changes, it does nothing. It
// holds the metadata of ConfigMaps and Secrets, not their data.
package collection
