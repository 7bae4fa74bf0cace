// Package api has the kinds of operator packages, Operator, OperatorVersion and
// Instance of kudo.dev/v1beta1, as KUDO defined them: their Go types, their
// definitions, and the annotations in which consent, rights and history travel.
//
// CustomResourceDefinitions returns the definitions as they are served; the spec
// of an OperatorVersion is marked immutable there. AddToScheme registers the
// types with a client's scheme.
//
// +k8s:deepcopy-gen=package
// +groupName=kudo.dev
package api

//go:generate go run k8s.io/code-generator/cmd/deepcopy-gen@v0.37.2 --output-file zz_generated.deepcopy.go .
