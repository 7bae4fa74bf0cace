package apiserver

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/capture"
	"holdfast.dev/holdfast/internal/apiserver/plugins"
	"holdfast.dev/holdfast/internal/apiserver/start"
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
	inside, err := kubernetes.NewForConfig(capture.Transport{Handler: served.server.Handler}.Config(b.Generic.LoopbackClientConfig))
	if err != nil {
		return fmt.Errorf("client inside the server: %w", err)
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
			RunWhileLeading: led, Controllers: b.Config.Controllers, Migrator: served.migrator,
			Collection:     collection.Config{Client: inside, AtLeast: b.Config.CollectAtLeast, Metrics: b.Metrics.Collection},
			ProtectVolumes: !slices.Contains(b.Config.DisableAdmission, plugins.VolumeProtection),
		}
		if err := lifecycle.Run(ctx, config); err != nil {
			klog.ErrorS(err, "controllers ended")
		}
	})
}
