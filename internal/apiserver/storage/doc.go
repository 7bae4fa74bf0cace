// Package storage gives every registry of the server its storage in etcd, with a
// watch cache in front of it.
//
//	config.RESTOptionsGetter = storage.Options{Client: client, Scheme: scheme, Codecs: codecs}
//	err := storage.Readable{Client: client}.First(ctx)
//
// Its words: an [Observer] sees every change of a resource before the watch cache does. The
// history of a resource is the list of past events that the watch cache keeps for watches
// that resume. This package bounds the history. Stored objects are readable if the
// configured encryption can decrypt them, see [Encryption], [Readable] and [Readiness].
//
// Everything here is safe for concurrent use.
package storage
