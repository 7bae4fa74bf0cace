package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/apiserver/builtin"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/selection"
	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// storageStage is the result of openStorage.
type storageStage struct {
	readable storage.Readable
	// usage says which objects the pods of each node use; selection lists them.
	usage     *node.Index
	selection *selection.Selection
}

// openStorage is the stage that gives registries their storage. It checks that the
// stored objects can be decrypted before anything else reads them: a server with the
// wrong key ends with one line that says so.
func openStorage(ctx context.Context, b base) (storageStage, error) {
	encrypted, err := storage.LoadEncryption(b.running, b.config.EncryptionConfig, b.generic.APIServerID)
	if err != nil {
		return storageStage{}, err
	}
	b.generic.AddHealthChecks(encrypted.Checks...)
	readable := encrypted.Readable(b.client)
	if err := readable.First(ctx); err != nil {
		return storageStage{}, err
	}
	usage := &node.Index{}
	selected, observers := builtin.NewSelection(usage)
	b.generic.RESTOptionsGetter = storage.Options{
		Client: b.client, Scheme: b.scheme, Codecs: b.codecs, Transformers: encrypted.Transformers, Observers: observers, Counts: b.generic.StorageObjectCountTracker,
		JSON: []schema.GroupResource{definitions.Resource},
	}
	return storageStage{readable: readable, usage: usage, selection: selected}, nil
}
