// Package custom serves custom resources: the objects of kinds that users define
// with CustomResourceDefinitions.
//
// A served definition is one CustomResourceDefinition as requests meet it, made
// when the definition changes and never changed afterwards; a change swaps it for
// another, and its storage is closed when the last request that holds it is
// done. A version of it has a store, opened by the first request, and an
// endpoint for the resource and each of its subresources. The rules are those of
// package definition; this package puts them in their places along a write.
//
//	server, err := custom.New(config)
//	mux.HandlePrefix("/apis/", server)
//	server.Start(ctx) // follows the definitions until ctx ends
//
// Everything here is safe for concurrent use.
package custom
