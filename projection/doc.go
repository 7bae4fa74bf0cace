// Package projection puts volumes on disk: it says which files a ConfigMap,
// Secret, downward API or projected volume has, and writes them so that a reader
// sees all of the old or all of the new.
//
//	payload, err := projection.Collect(pod, volume, sources)
//	changed, err := writer.Write(dir, payload, nil)
//
// Its words: a payload is the files of one volume by their path; a volume's
// directory holds one set, a directory of its own with a timestamp in its name,
// the link ..data that points at the set, and a visible link into ..data for
// each name at the top. This is the layout that programs on Kubernetes know.
//
// Promises: the set, and the names it goes by, are on disk before the one
// rename that makes it the current one. Killed between any two calls to the
// file system, or by a power failure, a writer leaves the old set or the new
// one, whole; Repair, which every Write does too, removes what else it left. What
// is not the writer's own in a directory is left alone. A Writer has no state: use
// it from many goroutines, for one directory from one at a time.
package projection
