// Package watches serves the watches of built-in kinds, with less memory and less processor time than the handlers of k8s.io/apiserver need.
//
//	server := watches.New(minTimeout)
//	err := server.Add(gv.WithResource("configmaps"), storage, codecs)
//	handler = server.Wrap(director)
//
// A watch of the library keeps about 6 KB of frames on its stack while it waits for an event, and two buffers with its last event that was not
// cached. It writes an event through several writers. A watch of this package keeps 1.2 KB of frames and no buffer, and writes an event, with its
// frame, in one call.
//
// Only usual requests are served here: a collection is watched in JSON or protobuf, without a transformation to tables or metadata, without
// compression, and without a websocket. Every other request, and each request with an error in its parameters, goes on to the next handler, which is
// the library's. The steps are those of ListResource, handleWatch and WatchServer in k8s.io/apiserver/pkg/endpoints/handlers, in their order: choose
// the encoding (format.go), read the options (options.go), open the watch (open.go), and send the events (stream.go, list.go). The encoders of the
// library make the text of an event. All watches of one encoding share it, through the CacheableObject of the watch cache.
//
// The build tag plain chooses the form that serves nothing. TestLikeLibrary compares both forms on random objects and requests, and fails if too few
// watches are served here.
package watches
