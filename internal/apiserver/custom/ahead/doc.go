// Package ahead decides which definitions the server compiles before a client writes their first object.
//
//	budget := ahead.New()
//	if budget.Takes(crd, time.Now()) { ... }  // compile it now
//
// The package is part of the wing of speed. The server compiles most definitions when the first request needs them: that takes
// milliseconds, and many definitions never get one (docs/decisions/0095-reads-compile-less.md). A definition with 5,000 properties takes 0.2 s,
// for which the client of the first write would wait. So the server compiles a large definition when a client creates or changes it, as
// kube-apiserver compiles all. A start compiles none. The budget bounds the memory: a compiled definition takes about ten times the
// bytes of its schemas, until package idle closes it.
//
// What must hold: a definition that is compiled ahead serves the same answers as one that the first request compiles.
// TestLargeDefinitionIsCompiledAhead in package custom checks that the server compiles it once, and that its rules hold. With the build tag
// plain, the server compiles nothing ahead.
package ahead
