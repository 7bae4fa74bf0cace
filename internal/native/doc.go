// Package native lists the built-in kinds of Kubernetes that the server has: Pod,
// ConfigMap, Deployment and so on. A Kind describes one of them: its resource name, its Go
// types, its subresources, and what the server does differently for it.
//
//	scheme := native.NewScheme()
//	for _, kind := range native.Kinds() { ... }
//
// The packages below hold tables that are keyed by Go type:
//
//	native/openapi   the published OpenAPI schema, generated
//	native/defaults  the default values of fields
//	native/rules     validation, with the error messages of Kubernetes
//	native/frozen    fields that cannot change after the object was created
//	native/columns   the columns that kubectl prints
//	native/views     how client-side and server-side apply divide an object into fields
//
// Kinds returns a new slice on every call, but its values share pointers and functions: do
// not change them. All functions are safe for concurrent use.
package native
