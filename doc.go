// Package holdfast is the root of a Kubernetes-compatible control plane in one binary, which keeps immutable fields immutable.
// It contains no code.
//
// The program is cmd/holdfast. Its packages are below internal: ARCHITECTURE.md has the map of all of them, and follows a write
// through the source files.
//
// Other programs may import the engines and the API types, which are beside this file. An engine computes its result from its
// arguments, without clock, disk or network.
//
//   - [holdfast.dev/holdfast/schema] is an OpenAPI v3 schema with Holdfast's extensions.
//   - [holdfast.dev/holdfast/skeleton] derives the structure of a schema and drops the fields of an object that the structure
//     does not contain.
//   - [holdfast.dev/holdfast/immutability] reads the markers of a schema and finds the changes of an update that they forbid.
//   - [holdfast.dev/holdfast/ownership] finds the fields that a write changes and another client owns.
//   - [holdfast.dev/holdfast/parameters] decides which parameters of an operator an update, upgrade or rollback may change.
//   - [holdfast.dev/holdfast/value] compares JSON values for all of them.
//   - [holdfast.dev/holdfast/api] has the types of operator packages.
//
// Their APIs follow semantic versions: before version 1.0.0, a minor version may change them, and CHANGELOG.md says how.
package holdfast
