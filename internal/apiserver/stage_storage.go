package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/definitions/stored"
	"holdfast.dev/holdfast/internal/apiserver/recording"
	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/apiserver/sharing"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/fieldhistory"
)

// storageStage is the result of openStorage.
type storageStage struct {
	readable storage.Readable
	// usage says which objects the pods of each node use; selection lists them.
	usage     *node.Index
	selection *selection.Selection
	// recorder records the history of objects.
	recorder *recording.Recorder
	// watchCaches are those of all stores that are open.
	watchCaches *storage.WatchCaches
	// shared lets the objects in these caches share equal parts.
	shared *sharing.Objects
}

// openStorage is the stage that gives registries their storage. It checks that the
// stored objects can be decrypted before anything else reads them: a server with the
// wrong key ends with one line that says so.
func openStorage(ctx context.Context, b start.Base) (storageStage, error) {
	encrypted, err := storage.LoadEncryption(b.Running, b.Config.EncryptionConfig, b.Generic.APIServerID)
	if err != nil {
		return storageStage{}, err
	}
	b.Generic.AddHealthChecks(encrypted.Checks...)
	readable := encrypted.Readable(b.Etcd)
	if err := readable.First(ctx); err != nil {
		return storageStage{}, err
	}
	usage := &node.Index{}
	selected, observers := builtin.NewSelection(usage)
	if !b.Config.WithoutReferences {
		observers = b.References.Observe(observers)
	}
	recorder, err := recording.New(ctx, recording.Config{
		Client: b.Etcd, Transformers: encrypted.Transformers,
		Bounds:     fieldhistory.Bounds{Entries: b.Config.History.Entries, Bytes: b.Config.History.Bytes},
		TotalBytes: b.Config.History.TotalBytes, AfterDelete: b.Config.History.AfterDelete,
	})
	if err != nil {
		return storageStage{}, err
	}
	recorder.Serve(b.Generic)
	b.Metrics.MustRegister(recorder.Collectors()...)
	caches, shared := &storage.WatchCaches{}, sharing.New()
	b.Generic.RESTOptionsGetter = storage.Options{
		Client: b.Etcd, Scheme: b.Scheme, Codecs: b.Codecs, Transformers: encrypted.Transformers, Observers: recorder.Observe(observers), Recorder: recorder, Counts: b.Generic.StorageObjectCountTracker,
		WatchCaches: caches, Shared: shared, JSON: []schema.GroupResource{definitions.Resource},
		Decoders: map[schema.GroupResource]func(runtime.Decoder) runtime.Decoder{definitions.Resource: stored.New},
	}
	return storageStage{readable: readable, usage: usage, selection: selected, recorder: recorder, watchCaches: caches, shared: shared}, nil
}
