// Package api has the kinds of operator packages, Operator, OperatorVersion and
// Instance of kudo.dev/v1beta1, as KUDO defined them: their Go types, their
// definitions, and the annotations in which consent, rights and history travel.
//
// CustomResourceDefinitions returns the definitions as they are served; the spec
// of an OperatorVersion is marked immutable there. AddToScheme registers the
// types with a client's scheme.
//
// +kubebuilder:object:generate=true
// +groupName=kudo.dev
package api
