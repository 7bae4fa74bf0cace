package revocation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Watch watches the list of the server until ctx ends. It returns when it has read the list for
// the first time. It calls changed each time the stored list was read or deleted; changed must not
// block for long.
func (r *Registry) Watch(ctx context.Context, client coreclient.CoreV1Interface, changed func()) error {
	source := cache.NewListWatchFromClient(client.RESTClient(), "configmaps", Namespace, fields.OneTermEqualSelector("metadata.name", Name))
	informer := cache.NewSharedInformer(source, &corev1.ConfigMap{}, 0)
	apply := func(obj any) {
		r.apply(obj)
		changed()
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    apply,
		UpdateFunc: func(_, obj any) { apply(obj) },
		DeleteFunc: func(any) { apply(nil) },
	})
	if err != nil {
		return fmt.Errorf("watch the list of revoked credentials: %w", err)
	}
	go informer.RunWithContext(ctx)
	select {
	case <-registration.HasSyncedChecker().Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	r.setIfNone()
	return nil
}

// apply sets the list from a ConfigMap. If obj is nil, it sets the empty list. If the text of the
// ConfigMap cannot be parsed, the previous list stays in force.
func (r *Registry) apply(obj any) {
	text := ""
	if stored, ok := obj.(*corev1.ConfigMap); ok {
		text = stored.Data[Key]
	}
	list, err := read(text)
	if err != nil {
		// Admission rejects such a list. A server of another version may have written it.
		klog.ErrorS(err, "a part of the list of revoked credentials cannot be read and is not enforced", "configMap", Name)
	}
	if list != nil {
		r.Set(list)
	}
}

// setIfNone sets the empty list if apply has set none: the ConfigMap does not exist, or its text
// cannot be parsed.
func (r *Registry) setIfNone() {
	select {
	case <-r.loaded:
	default:
		r.Set(NewList(nil))
	}
}
