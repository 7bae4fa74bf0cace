// Package sharing keeps equal parts of decoded objects of built-in kinds once.
//
//	objects := sharing.New()
//	objects.Share(resource, pod) // pod now shares equal parts with an earlier pod of its ReplicaSet
//
// The package is part of the wing of speed. The watch cache holds the objects of a kind and their last versions, and each is decoded from a text of its
// own. Most of a new version is equal to the version before, and most parts of a pod are equal to those of the other pods of its owner. Share replaces
// such parts by those of the earlier object: texts, lists, maps and pointers. The informers of the server share with the watch cache in the same way
// (ShareCopy). Without the package, a pod that has started adds 34 KB to the live heap of a server, and 13 KB with it (BenchmarkMemory in package
// builtin). A nil *Objects is the plain form: it shares nothing, and New
// returns it in a build with the tag plain.
//
// What must hold: no code changes a decoded object in place after Share has seen it. The objects of a watch cache are shared by all its
// readers, so this holds without the package too. Share replaces a part only by one that is equal to it, whatever the earlier object is:
// TestShare compares objects before and after it, and checks that the earlier objects stay as they are. TestShare fails if too
// few objects share something. Audits compare the objects of watch caches with etcd (package cacheaudit).
package sharing
