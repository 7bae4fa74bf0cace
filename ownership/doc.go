// Package ownership knows which fields of an object kubectl apply owns, and finds
// the fields of other owners that a write changes.
//
// A field is owned if it is in the last-applied configuration of the object, or in
// a managed-fields entry of server-side apply. The configuration as it was written says
// which fields it has, also with zero values; its canonical form, which is the form of
// stored objects, says what they are equal to. Client-side and server-side apply
// divide an object into fields in different ways, so each type has two views.
// [ClientSide] merges lists by patchMergeKey and takes every other list as one
// field. [ServerSide] follows x-kubernetes-list-type, x-kubernetes-list-map-keys
// and x-kubernetes-map-type. A finding is one field of another owner that a write
// changes; its [Kind] says how.
//
//	writer := ownership.ParseWriter(request)
//	verdict := ownership.Judge(ownership.Write{Type: t, Live: live, New: updated, Writer: writer, ...}, cache)
//	for _, line := range verdict.Warnings() { ... }
//
// Objects are map[string]any as JSON decoding gives them. Nothing here changes its
// arguments; findings hold references into them. A configuration that cannot be
// read is a note in the verdict, not an error. [Type], [View] and [Cache] are safe
// for concurrent use. The package helps users and is no security boundary: a
// client can send the name of every command and field manager.
//
// Other programs may import this package. Its API follows semantic versions: before version 1.0.0 of Holdfast, a minor version
// may change it, and CHANGELOG.md says how.
package ownership
