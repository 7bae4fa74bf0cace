// Package builtin holds the registries of the built-in kinds: one for each row of
// package native, with its subresources.
//
//	registries, err := builtin.Open(builtin.Config{Scheme: scheme, Options: options, ...})
//
// A registry is a store of k8s.io/apiserver with a strategy. The strategy prepares an
// object before it is validated and stored; package native says what that means for each
// kind. Kinds that need more than a store have a type of their own here: pods are bound to
// nodes, namespaces are deleted in two steps, signing requests are approved, ConfigMaps and
// Secrets can be listed by the node that uses them.
//
// [Codecs] decode requests for built-in kinds and encode the answers.
//
// The package does not depend on the server that serves the registries.
package builtin
