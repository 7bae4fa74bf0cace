// Package api defines the three kinds of operator packages, Operator,
// OperatorVersion and Instance of kudo.dev/v1beta1, as KUDO defined them.
//
// It holds their Go types, their CustomResourceDefinitions, and the labels and
// annotations that packages, clients, admission and the controller use.
// CustomResourceDefinitions returns the definitions that a server installs. They mark
// the spec of an OperatorVersion as immutable. AddToScheme registers the types with a
// client's scheme.
//
// Other programs may import this package. Its API follows semantic versions: before version 1.0.0 of Holdfast, a minor version
// may change it, and CHANGELOG.md says how.
//
// +kubebuilder:object:generate=true
// +groupName=kudo.dev
package api
