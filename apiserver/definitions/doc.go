// Package definitions serves CustomResourceDefinitions, in v1 and v1beta1. Package
// definition says what a definition means; this package stores them and speaks to
// clients.
//
//	store, status, err := definitions.Open(scheme, options, ownership)
//	registry := definitions.NewRegistry(store, settle)
//
// [Codecs] and [Filter] decode what clients send, which differs from other kinds:
// schemas may have keywords that Kubernetes does not know, and the Go types have no
// protobuf. [OpenAPIDefinitions] publishes the types under the names of Kubernetes.
package definitions
