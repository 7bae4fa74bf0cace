// Package v1beta1 has the Go types of the older API version,
// apiextensions.k8s.io/v1beta1, and their conversion to and from the stored form
// of package definition.
//
// In v1beta1 a schema, subresources, columns and selectable fields that are the
// same in all versions are set once, at the top of the spec, and so is prune.
// The server does not prune objects unless the definition asks for it.
//
//	definition.AddToScheme(scheme)
//	v1beta1.AddToScheme(scheme) // after the stored form
//
// The result of a conversion shares no memory with its input. A conversion loses
// nothing, but a field that v1beta1 allows in two places may come back in the
// other one.
package v1beta1
