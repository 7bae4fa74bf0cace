// Package garbage is the garbage collector. Like that of Kubernetes, it deletes an object
// when all its owners are deleted. If an owner is deleted in the foreground, the collector
// deletes the dependents first. If an owner is deleted with the policy Orphan, the
// collector first removes the owner references of the dependents.
//
//	garbage.Run(ctx, garbage.Config{Metadata: metadata, Discovery: discovery})
//
// An owner reference is solid if the owner exists, dangling if it does not, and waiting if
// the owner exists and waits for the deletion of its dependents.
//
// The collector has one watch for each built-in kind, and one for the custom resources of each API
// group, which reads them where they are stored: see Stored. In the process of the API server, it
// watches built-in kinds without requests: see Config.InProcess. It reads discovery every
// minute, and soon after a CustomResourceDefinition changed. It keeps only the name, UID,
// version, finalizers and owner references of objects. The cost of a deletion depends on
// the number of dependents, not on the number of all objects. Outdated watches cause no
// wrong deletion: every delete request has the UID and the resourceVersion of the object
// as preconditions, an owner that no watch has seen is read from the server before it
// counts as deleted, and the dependents of an owner that is deleted with the policy Orphan
// are read from the server before the owner goes. That reads all kinds in the namespace.
//
// A kind that cannot be watched, for example because its server does not answer, does not
// stop the collection of other objects. Foreground and orphan deletion wait only for owners
// that have a dependent of this kind, by the stored metadata. The stored metadata also tells
// whether an owner was deleted together with its CustomResourceDefinition, if no watch saw that.
//
// If the owner of an object was replaced by a new object of the same name, and its dependents are to stay, the store has a record:
// see Replaced. The collector then removes the owner reference, or gives it the UID of the new object, and deletes nothing.
//
// The collector also reports the number of objects to a Counter, so
// that quotas do not need watches of their own.
package garbage
