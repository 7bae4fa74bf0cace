// Package writes serves updates, patches and server-side applies of built-in kinds.
//
//	server := writes.NewServer(config)
//	endpoint, err := server.Add(gv.WithResource("pods"), "status", storage) // nil if the kind is left to the library
//	router.Replace(http.MethodPut, endpoint.Path(), endpoint.Function(http.MethodPut))
//
// A configuration is the body of a server-side apply.
//
// The package is part of the wing of speed. Its plain form is the handler of the library. This handler also serves the requests that are not regular, and those
// whose patch cannot be applied: the package has stored and answered nothing then. The quick form differs in three things:
//
//   - It records managers with package managers, and does not parse the managed fields again that it has just written.
//   - A patch is applied to the object without its managed fields. The library decodes them to trees for that.
//   - It decodes a configuration as JSON. The library decodes each one twice as YAML, although nearly all clients send JSON: kubectl,
//     client-go and controller-runtime do.
//
// A regular request has valid options, and its answer is the whole object. A regular update has no duplicate owners, a regular patch does not touch
// the managed fields, and a regular configuration is the JSON that a program writes (see Decode).
//
// What must hold: YAML and JSON give regular text the same value, which FuzzDecode checks, and the steps in request.go are those of the library. All parts
// are the library's: options, negotiation, decoding, strategies of patches, admission, timeouts, audit, metrics, the registry store and the writers of answers.
// TestAnswers and TestAnswersToUpdates send the same writes twice, once in a form that the library serves, and compare answers, warnings and stored objects.
package writes
