// Package ownership says which fields of an object belong to apply, and what a
// write does to fields that belong to somebody else.
//
// A field is owned when it is in the object's last-applied configuration, or in a
// managed-fields entry of server-side apply; everything else is free. What counts
// as one field is what the owner's next apply will really change, so each type
// has two views: [ClientSide] merges lists by patchMergeKey and takes every other
// list as one value, [ServerSide] goes by x-kubernetes-list-type and its kin. A
// finding is one field of somebody else that a write changes; its kind says how
// bad that is.
//
//	writer := ownership.ParseWriter(request)
//	verdict := ownership.Judge(ownership.Write{Type: t, Live: live, New: updated, Writer: writer, ...}, cache)
//	for _, line := range verdict.Warnings() { ... }
//
// Objects are map[string]any as JSON decoding gives them, with int64, float64 and
// no other numbers. Nothing here changes what it is given; findings hold
// references into it. A malformed or unknown configuration is a note of the
// verdict, never an error and never a panic. [Type], [View] and [Cache] are safe
// for concurrent use. All of it is a courtesy to people: whoever wants to can call
// themselves apply, so nothing here is a security boundary.
package ownership
