// Package kind is a kind of custom resources, compiled from one state of its definition.
//
//	k := kind.New(crd, config)
//	err := k.Compile()            // what reads need
//	err = k.CompileWrites()       // what only writes need
//	v := k.Versions["v1"]
//	unknown, err := v.Receive(obj) // an object that a client sent
//	v.Conform(obj.Object)          // an object of any other origin
//
// To conform means to prune the fields that the schema does not specify, remove the nulls that it does not allow, set its
// defaults, and normalize. An object that conforms is what a GET returns. Objects from storage and from conversions conform as well.
//
// Package definition holds the rules. Everything here depends only on the definition and is computed once. A compiled kind is safe for
// concurrent use.
package kind
