// Package definitions serves CustomResourceDefinitions, short: definitions, in v1 and
// v1beta1. Package definition has the rules for defaults and validation. This package
// stores definitions and serves them to clients.
//
//	store, status, err := definitions.Open(scheme, options, ownership, rules)
//	registry := definitions.NewRegistry(store, content, keep)
//
// [Codecs] and [Filter] decode the requests of clients. This differs from other kinds:
// schemas may have keywords that Kubernetes does not know, and the Go types have no
// protobuf encoding. [OpenAPIDefinitions] publishes the types under the names of
// Kubernetes.
package definitions
