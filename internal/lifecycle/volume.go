package lifecycle

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/admission/volume"
	"holdfast.dev/holdfast/internal/connection"
)

// volumes is the controller that keeps a deleted PersistentVolume while it is bound to a
// claim.
type volumes struct {
	metadata  metadata.ResourceInterface
	finalizer finalizer
	store     cache.Store
}

func newVolumes(c *connection.Connection, config Config) *volumes {
	return &volumes{
		metadata:  c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("persistentvolumes")),
		finalizer: finalizer{volume.VolumeFinalizer, config.ProtectVolumes},
	}
}

func (*volumes) name() string { return "volumes" }

// watch enqueues a volume when it has to get the finalizer, and when it is being deleted.
func (v *volumes) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	informer, err := volumeInformer(factory)
	if err != nil {
		return err
	}
	v.store = informer.GetStore()
	return v.finalizer.watch(informer, enqueue)
}

// reconcile adds the finalizer to a volume that lacks it. It removes the finalizer from a
// deleted volume that is not bound.
func (v *volumes) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := v.store.GetByKey(name.String())
	found, ok := obj.(*corev1.PersistentVolume)
	switch {
	case err != nil || !exists || !ok:
		return 0, err
	case v.finalizer.isMissing(found):
		return 0, v.finalizer.attach(ctx, v.metadata, found)
	case v.finalizer.holds(found) && found.Status.Phase != corev1.VolumeBound:
		return 0, v.finalizer.detach(ctx, v.metadata, found)
	}
	return 0, nil
}
