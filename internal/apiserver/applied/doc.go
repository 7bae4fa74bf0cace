// Package applied serves server-side applies of built-in kinds whose configuration is JSON.
//
//	endpoint, err := applied.New(config, gv, storage) // nil if the kind is left to the library
//	router.Replace(http.MethodPatch, path, endpoint.Function)
//
// A configuration is the body of a server-side apply.
//
// The package is part of the wing of speed. The handler of the library decodes each configuration twice as YAML, although nearly all clients send
// JSON: kubectl, client-go and controller-runtime do. Of an apply of a ConfigMap of 3 KB, this was a third of the allocated memory, 210 of 640 KB. It also
// parses the managed fields again that it has just written. The plain form is the handler of the library, and it also answers every request
// that is not regular: another patch type, a configuration that is not the JSON that a program writes (see Decode), wrong options, or an answer as a
// table.
//
// What must hold: YAML and JSON give regular text the same value, which FuzzDecode checks, and the steps in request.go are those of the library. All parts
// are the library's: options, negotiation, field manager, admission, timeouts, audit, metrics, the registry store and the writers of answers.
// TestAnswers sends the same configurations in both forms and compares answers, warnings and stored objects.
package applied
