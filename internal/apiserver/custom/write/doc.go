// Package write is the write of a custom resource: create, update, patch and apply, of the objects of a version or of their status.
//
//	endpoint := &write.Endpoint{Judge: judge, Storage: store, Scope: scope, Fields: recorder, ...}
//	endpoint.Serve(w, req, "update")
//
// handler.go has the steps in order. request.write reads and decodes the request. request.newObject makes the object to store: the
// managed fields, the types, mutating admission, the types again. Then the object conforms, and gets the stored status. The registry store of
// the library calls newObject with the stored object. Then it calls Judge.BeginUpdate (immutable fields), Strategy (ownership, schema) and
// validating admission, and writes to etcd.
//
// The parts are those of the library: options, negotiation, audit, admission, timeouts, warnings, the registry store and the
// response writers. The order of the steps, the status codes and the words of errors are those of the handlers of the library.
package write
