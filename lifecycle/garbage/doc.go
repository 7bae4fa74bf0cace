// Package garbage collects objects by their owner references, as Kubernetes'
// garbage collector does: an object whose owners are all gone goes, an owner
// that is deleted in the foreground waits for the dependents that block it, and
// an owner that leaves orphans is first taken out of their references.
//
//	garbage.Run(ctx, garbage.Config{Metadata: metadata, Discovery: discovery})
//
// Its words: an object's references name its owners; it is a dependent of each,
// and the dependents of one owner are its family. A reference is solid if its
// owner is there, dangling if it is not, and waiting if the owner is there and
// waits for its dependents to go.
//
// Promises: one watch for each kind the server has, those added later included,
// and a look at discovery every minute, sooner after a definition changed. Of an
// object only its name, UID, version and references are kept. A deletion costs
// time in proportion to the family, never to the number of objects. Nothing is
// deleted on the word of a watch that is behind: every deletion names the UID
// and the version it was decided on, and an owner that was not seen is read from
// the server before it counts as gone. A Census hears of every object, so that
// others who count need no watches of their own.
package garbage
