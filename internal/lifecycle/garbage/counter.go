package garbage

import "k8s.io/apimachinery/pkg/runtime/schema"

// Counter counts the objects of every kind in every namespace. The collector calls its
// methods with locks held, so they must return quickly and must not call the collector.
type Counter interface {
	// WatchStarted is called when a watch of a kind starts. A kind can have two watches
	// for a while, when the preferred version of the kind changes.
	WatchStarted(resource schema.GroupResource)
	// Listed is called when Count was called for all existing objects of a kind.
	Listed(resource schema.GroupResource)
	// Count is called with 1 when an object is observed for the first time, and with -1
	// when it is deleted.
	Count(resource schema.GroupResource, namespace string, change int64)
	// WatchStopped is called when a watch stops. After it, Count is called with -1 for
	// every object of the watch, although the objects still exist.
	WatchStopped(resource schema.GroupResource)
	// Discovered is called when WatchStarted was called for every kind of the server.
	Discovered()
}

// noCounter ignores all calls.
type noCounter struct{}

func (noCounter) WatchStarted(schema.GroupResource)         {}
func (noCounter) Listed(schema.GroupResource)               {}
func (noCounter) Count(schema.GroupResource, string, int64) {}
func (noCounter) WatchStopped(schema.GroupResource)         {}
func (noCounter) Discovered()                               {}
