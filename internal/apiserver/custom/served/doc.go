// Package served serves the objects of one CustomResourceDefinition.
//
//	r := served.New(config, crd)
//	r.Acquire()
//	defer r.Release()
//	v := r.Version(info)
//	err := v.OpenFor(info.Verb)
//	v.Serve(w, req, info)
//
// A resource has one Version for each version of the definition. The first request for a version opens its store, and the
// first one that is not a GET, LIST or WATCH its endpoints for writes. GET, LIST, WATCH, DELETE and the subresource scale are served by the handlers of k8s.io/apiserver, and all other
// writes by package write.
//
// If the definition changes, the caller makes a new resource and retires the old one. Everything here is safe for concurrent use.
package served
