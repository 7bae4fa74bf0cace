// Package openapi serves OpenAPI documents: one of version 2 for all kinds, and one of version 3
// for each version of an API group.
//
//	documents := openapi.NewDocuments()
//	documents.Set("apis/apps/v1", openapi.NewV3(identify, build))
//	mux.HandleFunc("/openapi/v3", documents.ServeList)
//
// A document is built when a client first asks for it. Then only its compressed encodings are kept,
// which is all that the next client needs. The library of Kubernetes keeps the parsed document and each
// encoding as it is, and it builds all documents for the list of their hashes. With 300
// definitions that took 4 s and more memory than anything else.
//
// The document of version 2 has all kinds. It can be made of pieces, which are compressed parts of its text, see package deflate. The
// caller keeps the pieces that do not change, and a new document is their concatenation.
package openapi
