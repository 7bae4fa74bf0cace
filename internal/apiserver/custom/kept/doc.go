// Package kept keeps decoded custom resources, so that the server decodes a stored text once.
//
//	trees := kept.New()
//	trees.Add(version, text, obj)
//	obj := trees.Get(version, text)
//
// The package is part of the wing of speed. The text of an object comes back from etcd several times: in the answer to a write, in the
// event of the write, as the old object in the event of the next write, and in each GET. Without the
// package, an update of an object with 195 fields allocates 955 KB, and 556 KB with it (BenchmarkFleet in package custom). A nil *Trees
// is the plain form: it keeps nothing, and New returns it in a build with the tag plain.
//
// What must hold: an object that is added is the one that its text is decoded to, and the values below its metadata never change in
// place, because all objects from the cache share them. The text is compared as a whole, so that a stored text never yields the
// object of another one. A build with the tag frozen, or with the race detector, checks both: it stops with a panic if a kept tree was
// changed, or if an added object is not what its text is decoded to. TestTreesAreDecoded in package served compares both forms, and
// TestWrongTree corrupts the cache. A server compares each kept tree with its text while it runs, see package cacheaudit.
package kept
