// Package plain makes the OpenAPI documents of custom resources with the library of Kubernetes, and keeps nothing.
//
//	document, err := plain.V3(groupVersion, definitions)
//	document, err := plain.Form{}.Add(builtInKinds, definitions) // version 2
//
// The library makes the paths and the models that all resources have in common. It does not get the schemas of definitions, because it
// drops the keywords that it does not know: definition.Publish renders the models of the kinds.
package plain
