package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/apiserver/plugins"
	"holdfast.dev/holdfast/internal/apiserver/start"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/lifecycle/collection"
)

// besideControllerManager reports whether the server leaves its garbage collector to a
// kube-controller-manager. Such a server has the roles of the controllers there, and workloads
// have controllers.
func besideControllerManager(c Config) bool { return !c.Controllers.Has(lifecycle.Garbage) }

// addControllers runs the controllers, and the functions in led, while the server serves
// and holds the lease. They stop before the server stops answering, because they release
// the lease through its API.
func addControllers(b start.Base, served resourcesStage, bootstrapped <-chan struct{}, led []func(context.Context)) error {
	if !b.Config.Controllers.NeedsLease() && len(led) == 0 {
		return nil
	}
	name, err := start.ServerIdentity(b.Config.DataDir)
	if err != nil {
		return err
	}
	authorities, err := b.RootCA()
	if err != nil {
		return err
	}
	inside, err := insideClient(served.server.Handler, b.Generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	return served.hooks.WhileServing("start-controllers", func(ctx context.Context) {
		select {
		case <-bootstrapped: // the server has tried to create the namespace of the lease
		case <-ctx.Done():
			return
		}
		config := lifecycle.Config{
			Client: b.Generic.LoopbackClientConfig, Identity: name, RootCA: authorities,
			Stored: served.stored, InProcess: served.source, StorageVersion: served.storageVersion,
			Replaced: storage.Records{Client: b.Etcd}, RunWhileLeading: led, Controllers: b.Config.Controllers, Migrator: served.migrator,
			Collection: collection.Config{
				Client: inside, Index: served.references, AtLeast: b.Config.CollectAtLeast, Metrics: b.Metrics.Collection,
			},
			ProtectVolumes: !slices.Contains(b.Config.DisableAdmission, plugins.VolumeProtection),
		}
		if err := lifecycle.Run(ctx, config); err != nil {
			klog.ErrorS(err, "controllers ended")
		}
	})
}

// insideClient returns a client whose requests the server handles without a connection, so that the storage sees the values of their contexts.
func insideClient(handler http.Handler, loopback *rest.Config) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(capture.Transport{Handler: handler}.Config(loopback))
	if err != nil {
		return nil, fmt.Errorf("client inside the server: %w", err)
	}
	return client, nil
}

// insideMetadata is insideClient for the metadata of objects of all kinds. It has no limit on its rate: one request may try the change of many
// dependents.
func insideMetadata(handler http.Handler, loopback *rest.Config) (metadata.Interface, error) {
	config := capture.Transport{Handler: handler}.Config(loopback)
	config.QPS = -1
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client inside the server: %w", err)
	}
	return client, nil
}
