// Package answer decodes the requests for custom resources, and encodes the answers.
//
//	shared := answer.NewShared(format, scheme)
//	scope.Serializer = answer.NewSerializer(version, typer, shared)
//	reads := answer.NewReads(scope)
//	readScope, req := reads.For(w, req, "list")   // for the handler of a GET, LIST or WATCH
//
// # Words
//
// The text of an object is its JSON. An object is packed if its text is compressed so that it can be a part of any compressed answer.
// A partial LIST has only the metadata of each object: it is a list of metadata or a table.
//
// # Speed
//
// The encoders are part of the wing of speed. The plain form is the library: its codec encodes every object for every answer, and its
// handlers encode events, tables and lists of metadata. The quick form keeps the texts of objects and puts answers together from them.
// Both are in every build, and the build tag plain chooses the plain form. The decoders are the same in both.
//
// BenchmarkForms measures the handlers of the library with both forms, without a network, for 500 objects of 15 KB whose texts are
// cached (10 runs, busy machine):
//
//	                       quick     plain
//	GET                    0.02 ms   0.08 ms
//	LIST                   4 ms      677 ms
//	LIST with gzip         8 ms      812 ms
//	LIST as a table        7 ms      199 ms
//	LIST of metadata       3 ms      56 ms
//	WATCH, 500 ADDED       10 ms     250 ms
//
// docs/costs.md, docs/decisions/0026, 0063 and 0090 have the figures of the whole server.
//
// What must hold:
//   - An object in an answer to GET and LIST, and in an ADDED or MODIFIED event, is the stored object: its UID and its resourceVersion
//     identify its content. This is false for a dry run, for the DELETED event of a watch with a selector, and for what the audit log
//     encodes. These do not use the texts. TestWrongText corrupts the cache and shows which answers have the wrong text.
//   - The caller calls Shared.Drop when a version is closed. A changed definition has new versions, so it never uses earlier texts.
//   - The response writer of the library decides by the size of the first write whether it compresses an answer, see writePacked and
//     uncompressed.list.
//
// TestFormsAgree compares the answers of both forms to random objects byte by byte, and fails if an answer that could use the texts does
// not use them.
package answer
