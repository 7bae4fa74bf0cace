// Package custom serves custom resources: the objects of kinds that users define
// with CustomResourceDefinitions.
//
// The package has these parts:
//
//   - The controller watches the definitions. It makes the server serve each of them,
//     and writes their status.
//   - A resource serves the objects of one definition. If the spec or the accepted
//     names of the definition change, the server replaces the resource. It closes
//     the storage of the old resource when the last request that uses it has ended.
//   - A version of a resource has a store, which the first request opens, and an
//     endpoint for the resource and for each of its subresources.
//   - Package documents publishes the OpenAPI documents.
//
// Package definition holds the rules: pruning, defaults, validation. This package
// calls them while it handles a request.
//
//	server, err := custom.New(config)
//	mux.HandlePrefix("/apis/", server)
//	server.Start(ctx) // serves the definitions until ctx ends
//
// Everything here is safe for concurrent use.
package custom
