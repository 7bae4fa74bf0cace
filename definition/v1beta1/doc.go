// Package v1beta1 is the older form of a definition, apiextensions.k8s.io/v1beta1,
// and its conversion to and from the stored form of package definition.
//
// In this form a schema, subresources, columns and selectable fields that are
// the same in all versions stand once, at the top of the spec; so does prune.
// Objects are not pruned unless the definition asks for it.
//
//	definition.AddToScheme(scheme)
//	v1beta1.AddToScheme(scheme) // after the stored form
//
// Conversion copies: the two forms share no memory. It loses nothing, but for
// the spelling of what can be said in two ways.
package v1beta1
