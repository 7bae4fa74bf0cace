// Package custom serves custom resources: the objects of kinds that users define
// with CustomResourceDefinitions.
//
// The package has these parts:
//
//   - The controller watches the definitions. It makes the server serve each of them,
//     and writes their status.
//   - The server finds the resource of a request. If the spec or the accepted names of
//     a definition change, it replaces the resource. Package served serves the objects
//     of one resource, and package write has the steps of a write.
//   - Package documents publishes the OpenAPI documents.
//
// ARCHITECTURE.md follows one update through the files.
//
//	server, err := custom.New(config)
//	mux.HandlePrefix("/apis/", server)
//	server.Start(ctx) // serves the definitions until ctx ends
//
// Everything here is safe for concurrent use.
package custom
