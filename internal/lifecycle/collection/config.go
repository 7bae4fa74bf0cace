package collection

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// Index knows which objects refer to ConfigMaps and Secrets. It is safe for concurrent use.
type Index interface {
	// Unused returns since when no object refers to an object, as this server knows it. ok is false if one does, or if the object is
	// unknown.
	Unused(kind references.Kind, namespace, name string) (since time.Time, ok bool)
	// Incomplete returns why the references in a namespace are not all known, empty if they are.
	Incomplete(namespace string) string
	// Subscribe calls notify when an object begins or ends to be referenced, when it changes, and when Incomplete changes (with an empty
	// name). notify does not block.
	Subscribe(notify func(kind references.Kind, namespace, name string)) (stop func())
	// Unreferenced reads the stored objects from etcd, not from a cache. It returns a context in which a delete of the object succeeds
	// only if no object that may refer to it was written since. ok is false if one refers to it.
	Unreferenced(ctx context.Context, kind references.Kind, namespace, name string) (fenced context.Context, ok bool, err error)
}

// Config configures the controller.
type Config struct {
	// Client sends requests to the API server, with the permissions of an administrator. The server sees the values of the context of a
	// request: the context of Index.Unreferenced makes a delete depend on the references.
	Client kubernetes.Interface
	// Informers have the objects. No other controller uses them, because the controller drops the data of the objects.
	Informers informers.SharedInformerFactory
	Index     Index
	// AtLeast is how long no object refers to an object before it is marked, whatever its annotation says, and how long it is marked
	// before it is deleted. The default is one minute, and only tests use another value.
	AtLeast time.Duration
	// Clock is the real clock by default.
	Clock clock.WithTicker
	// Metrics counts what the controller does. It may be nil.
	Metrics *Metrics
}

func (c Config) withDefaults() Config {
	if c.AtLeast == 0 {
		c.AtLeast = failpoint.Bound("collection:atLeast", series.LeastAfter)
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	return c
}
