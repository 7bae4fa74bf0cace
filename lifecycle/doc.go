// Package lifecycle holds the controllers that run inside the server so that
// nothing is left behind: terminating namespaces are emptied and removed, pods
// whose node is gone are finished, objects whose owners are gone are collected
// (package garbage), what quotas were charged is given back (package quota), and
// every active namespace has its default ServiceAccount and the server's CA.
//
//	err := lifecycle.Run(ctx, lifecycle.Config{Client: loopback})
//
// Its words: a controller puts the names of objects into a queue when watches
// show a change, and reconciles each name: it looks at the object as it is now
// and does what is missing. The leader is the one process among replicas that
// runs the controllers; it holds the Lease kube-system/holdfast-controllers.
//
// Promises: without changes there are a watch for each kind and a few more, the
// renewal of the Lease, and a look at discovery every minute. Every deletion of
// a single object names its UID, so an object created anew under the same name
// is never hit, not even by a leader that has lost its Lease and does not know
// yet. When Run returns, everything it started has ended.
package lifecycle
