// Package documents publishes the OpenAPI documents of custom resources: one of version 3 for each version of a group, and their part of
// the one of version 2, which has all kinds.
//
//	documents := documents.New(publisher, builtInKinds, revision)
//	documents.Update("example.com", definitions) // after each change of a definition
//
// A document is built when a client asks for it. The v2 document has two forms with the same content. Package plain makes it with the
// library of Kubernetes, and package assembled from kept pieces, which takes a fraction of the time. The build tag plain chooses the
// plain form.
//
// A Documents is safe for concurrent use.
package documents
