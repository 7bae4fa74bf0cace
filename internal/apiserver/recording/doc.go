// Package recording records the history of objects: each write stores an entry beside the object, in the same transaction of etcd. Package
// fieldhistory has the form of entries.
//
//	recorder, err := recording.New(ctx, recording.Config{Client: client, Transformers: transformers, Bounds: bounds})
//	config.RESTOptionsGetter = storage.Options{Client: client, Recorder: recorder}
//	handler = recorder.Filter(handler)
//
// Its words: an object is on if the server records its writes. An object is on if it has the label holdfast.dev/history with the value
// fields, or if it does not have the label and its namespace has it with this value. The record of an object is its entries in etcd, under its UID.
//
// An entry and the write that it describes are stored together or not at all. The transaction compares the newest entry that the server
// knows, so several servers on one etcd give each number once. If an object has changed without an entry, for example while it was not
// on, the next write adds an entry with Truncated before its own.
//
// A [Recorder] is safe for concurrent use.
package recording
