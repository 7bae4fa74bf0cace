package revocation

import (
	"context"
	"fmt"
	"time"

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
// ConfigMap cannot be parsed, the previous list stays in force. If there is no previous list, apply
// sets the one of newUnreadable.
func (r *Registry) apply(obj any) {
	text := ""
	if stored, ok := obj.(*corev1.ConfigMap); ok {
		text = stored.Data[Key]
	}
	list, err := read(text)
	// Admission rejects a list with errors. A server of another version may have written it.
	switch {
	case list != nil && err != nil:
		klog.ErrorS(err, "invalid entries of the list of revoked credentials are not enforced", "configMap", Name)
	case list == nil && r.list.Load() == nil:
		klog.ErrorS(err, "the list of revoked credentials cannot be parsed; the server replaces the certificate of the administrator "+
			"and rejects every other credential until the list is correct", "configMap", Name)
		list = newUnreadable(time.Now())
	case list == nil:
		klog.ErrorS(err, "the list of revoked credentials cannot be parsed; the previous list stays in force", "configMap", Name)
		return
	}
	r.Set(list)
}

// setIfNone sets the empty list if apply has set none, because the ConfigMap does not exist.
func (r *Registry) setIfNone() {
	select {
	case <-r.loaded:
	default:
		r.Set(NewList(nil))
	}
}
