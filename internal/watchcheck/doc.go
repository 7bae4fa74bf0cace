// Package watchcheck checks in tests that watches show what was written.
//
//	truth := watchcheck.NewTruth(revision, objects)      // the store at a revision
//	err := truth.Add(revision, key, object)              // each later write, in order; nil deletes
//	stream := &watchcheck.Stream{Name: "config maps"}
//	stream.Listed(revision, objects)                     // what a client got, in order
//	stream.Began(revision)
//	stream.Event("ADDED", object)
//	report := stream.Check(truth)
//
// Truth comes from the store itself, for example from the history of etcd. A Stream records the lists and watches of one client, which resumes
// as clients do. Check compares both. It is pure: it has no clock, no network and no goroutine. These are its rules:
//
//   - Ordered: events come in the order of the writes.
//   - Unique: a watch shows a write once.
//   - Resumable: a watch that begins at a revision shows the next write first.
//   - Reliable: a list has all objects, a watch shows each later write, and neither shows anything else.
//   - Bookmarkable: a bookmark comes after the events of all writes up to its revision.
//   - Filtered: a watch with a selector shows an object as added when it begins to match, and as deleted when it ceases to.
//   - Previous: a deletion shows the object as it was before, with the revision of the deletion.
//   - Content: every other event has the object as it was written, and the right type.
//
// The replacement of an object (docs/replacement.md) is one write, which a watch shows as two events. The first one, DELETED, has a revision
// one lower than the second one, ADDED. No other event and no bookmark lies between them. A watch that resumes at the lower revision shows both
// again, or only the second one. This is the only exception from the rules.
//
// A Truth and a Stream are not safe for concurrent use.
package watchcheck
