// Package idle closes what has had no request for some time.
//
//	go idle.Run(ctx, func(since time.Time) { ... })  // close what was last used before
//
// The package is part of the wing of speed: a definition in use holds its compiled schemas and a watch cache, about 0.6 MB, and the next
// request opens it again (docs/decisions/0085-unused-definitions-are-closed.md). Without the package, which the build tag plain turns
// off, a definition stays open after its first request.
//
// What must hold: a request that begins while the definition is being closed opens it again, and gets the same answer. TestCloseUnused in
// package custom compares the answers before and after.
package idle
