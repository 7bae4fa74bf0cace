// Package assembled makes the OpenAPI v2 document of custom resources from kept, compressed pieces. It only makes the document of
// package plain cheaper.
//
//	form := assembled.New(identify)
//	document, err := form.Add(builtInKinds, definitions)
//
// The v2 document has all kinds, so every change of a definition makes another document. This package saves two things:
//
//   - The library of Kubernetes builds the paths of each definition from routes. Here it does so once for each combination of scope
//     and subresources, and the names are replaced for each definition.
//   - What a version of a definition adds to the document is a part: compressed JSON, one piece for each model and path. The parts of
//     the last document are kept. A new document needs new parts only for the definitions that changed, and it is the concatenation
//     of all pieces (package deflate).
//
// With 300 definitions, the first document took 5.8 s of CPU time in the plain form and takes 2.7 s here. The next one, after a change of
// one definition, took 5.6 s and takes 0.04 s. docs/costs.md has all figures, and docs/decisions/0097-openapi-v2-from-pieces.md the
// decision.
//
// The document is right as long as this holds:
//
//   - identify returns another hash when anything changes from which a part is made.
//   - The paths of two definitions with the same traits differ only in their names. Definitions with unusual names do not use the
//     sample, see resourceNames.ordinary.
//   - The library encodes a document in a known order. If not, the document fails with an error.
//   - No piece refers to a model that the library renamed. If a built-in kind has a path or a model of a custom resource, Add gives
//     the whole work to package plain.
//
// One difference remains. If another server has a model that equals the one of a custom resource, the plain document has it once, and the
// assembled one has a copy with another name.
//
// TestRandom compares the documents of both forms for random definitions, and checks that most of them use pieces and samples. TestForm
// compares them byte by byte after changes. TestRoutes compares the paths.
package assembled
