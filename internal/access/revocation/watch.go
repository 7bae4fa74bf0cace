package revocation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// retryInterval is how long Watch waits after the server could not say whether the list exists.
const retryInterval = time.Second

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
	stored := client.ConfigMaps(Namespace)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    apply,
		UpdateFunc: func(_, obj any) { apply(obj) },
		DeleteFunc: func(any) {
			if isDeleted(ctx, stored) {
				apply(nil)
			}
		},
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

// isDeleted reports whether the server has no list. A watch shows a ConfigMap that replaces another one as a deletion and a creation, and
// between the two the entries must stay in force. isDeleted asks until the server answers or ctx ends: until then the list stays too.
func isDeleted(ctx context.Context, stored coreclient.ConfigMapInterface) bool {
	deleted := false
	_ = wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
		_, err := stored.Get(ctx, Name, metav1.GetOptions{})
		deleted = apierrors.IsNotFound(err)
		if err != nil && !deleted {
			klog.ErrorS(err, "the list of revoked credentials was deleted, and cannot be read; it stays in force", "configMap", Name)
		}
		return err == nil || deleted, nil
	})
	return deleted
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
