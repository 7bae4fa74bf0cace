package recording

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/ownership"
)

// Config configures a Recorder.
type Config struct {
	Client *etcd.Client
	// Transformers encrypt entries like the objects that they belong to; nil stores them as they are.
	Transformers value.ResourceTransformers
	// Bounds bound the record of one object.
	Bounds fieldhistory.Bounds
	// TotalBytes bounds the records of all objects. An object keeps its newest entry all the same, because it has the number of the next one.
	TotalBytes int64
	// AfterDelete is how long the record of a deleted object is kept. With zero it goes with the object.
	AfterDelete time.Duration
}

// Recorder records the history of the objects of a server.
type Recorder struct {
	Config
	types      *views.Types
	namespaces *namespaces
	states     states
	key        sealKey
	metrics    metrics
	// used is false while etcd has no record that this server knows of. The deletion of an object that is not on then costs nothing.
	used atomic.Bool
	// bytes is about the sum of the sizes of all entries. grown is by how much it has grown since the last survey, and surveys asks for one.
	bytes, grown atomic.Int64
	surveys      chan struct{}
	// storages is the number of storages.
	storages atomic.Uint64
}

// New returns a recorder.
func New(ctx context.Context, config Config) (*Recorder, error) {
	r := &Recorder{
		Config: config, types: views.New(), namespaces: newNamespaces(), metrics: newMetrics(), states: newStates(config.Bounds.Entries),
		surveys: make(chan struct{}, 1),
	}
	first, err := config.Client.Firsts(ctx, []string{Prefix})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	r.used.Store(first[0] != nil)
	return r, nil
}

// excluded are resources whose objects are never on. Events are removed by etcd, and Leases change every few seconds.
var excluded = map[schema.GroupResource]bool{
	{Resource: "events"}:                               true,
	{Group: "events.k8s.io", Resource: "events"}:       true,
	{Group: "coordination.k8s.io", Resource: "leases"}: true,
}

var secrets = schema.GroupResource{Resource: "secrets"}

// Record implements storage.Recorder.
func (r *Recorder) Record(raw apistorage.Interface, of storage.Recorded) apistorage.Interface {
	if excluded[of.Resource] {
		return raw
	}
	s := &store{Interface: raw, recorder: r, number: r.storages.Add(1), resource: of.Resource, newFunc: of.New}
	if contents, ok := of.Codec.(Contents); ok {
		s.contents = custom{contents}
	} else {
		s.contents = builtIn{apiVersion: of.Kind.GroupVersion().String(), lists: func() ownership.Lists { return r.types.Of(of.Kind.GroupKind()).Lists() }}
	}
	return s
}

// now is the time of an entry.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
