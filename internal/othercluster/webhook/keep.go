package webhook

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// renewalInterval is the interval at which a certificate in a Secret is checked.
const renewalInterval = time.Hour

// Keep implements Keys. It watches the Secret, renews its certificate, and creates the Secret again if it is deleted. Until then, and
// while the Secret is not valid, the last certificate stays in use.
func (k *secretKeys) Keep(ctx context.Context) {
	changed := make(chan *corev1.Secret, 1)
	update := func(obj any) {
		found, _ := obj.(*corev1.Secret) // nil if the Secret is deleted
		select {
		case <-changed: // an older state
		default:
		}
		changed <- found
	}
	one := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "secrets", k.secret.Namespace,
		fields.OneTermEqualSelector("metadata.name", k.secret.Name))
	known, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &corev1.Secret{}, ResyncPeriod: renewalInterval,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: update, UpdateFunc: func(_, obj any) { update(obj) }, DeleteFunc: func(any) { update(nil) },
		},
	})
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { informer.RunWithContext(ctx) })
	watching.Go(func() {
		// A Secret that was deleted before the watch began has no event.
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && len(known.List()) == 0 {
			update(nil)
		}
	})
	k.follow(ctx, changed)
}

// follow uses each new state of the Secret. If the API server does not accept its certificate yet, or if the Secret is
// deleted and cannot be created, follow tries it again after acceptInterval.
func (k *secretKeys) follow(ctx context.Context, changed <-chan *corev1.Secret) {
	ticker := time.NewTicker(acceptInterval)
	defer ticker.Stop()
	var waiting *corev1.Secret
	var missing bool
	var told string
	for {
		select {
		case <-ctx.Done():
			return
		case waiting = <-changed:
			k.acceptedSince, missing = time.Time{}, waiting == nil
		case <-ticker.C:
		}
		if missing {
			err := k.restore(ctx)
			if missing = err != nil; missing && ctx.Err() == nil && told != err.Error() {
				told = err.Error()
				klog.ErrorS(err, "the last certificate of the webhook stays in use")
			}
		}
		if waiting == nil {
			continue
		}
		pair, err := parsePair(waiting)
		used := err == nil && k.adopt(ctx, pair)
		if used {
			err = k.renew(ctx, waiting)
		}
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "certificate of the webhook is not renewed")
		}
		if used || err != nil {
			waiting = nil
		}
	}
}

// restore creates the Secret again, with a new authority, for the hosts of the current certificate.
func (k *secretKeys) restore(ctx context.Context) error {
	if k.Accepts == nil {
		return fmt.Errorf("secret %s/%s is deleted: run %q again", k.secret.Namespace, k.secret.Name, k.secret.Remedy)
	}
	secret := k.secret
	var err error
	if secret.Hosts, err = hostsOf(k.current.Load()); err != nil {
		return err
	}
	if _, err = secret.create(ctx, k.client); err != nil {
		return fmt.Errorf("secret %s/%s is deleted: %w", k.secret.Namespace, k.secret.Name, err)
	}
	return nil
}

// renew replaces a certificate that expires soon by one for the same hosts. It replaces the authority only if it can
// wait until the API server accepts the new one.
func (k *secretKeys) renew(ctx context.Context, found *corev1.Secret) error {
	if len(found.Data[AuthorityKeyKey]) == 0 {
		return nil // without the key of the authority, another program renews the Secret
	}
	hosts, err := hostsOf(k.current.Load())
	if err != nil {
		return err
	}
	data, err := k.secret.Complete(found.Data, hosts, time.Now())
	if err != nil || bytes.Equal(data[corev1.TLSCertKey], found.Data[corev1.TLSCertKey]) {
		return err
	}
	if k.Accepts == nil && !bytes.Equal(data[AuthorityCertKey], found.Data[AuthorityCertKey]) {
		return fmt.Errorf("its authority expires soon: run %q again", k.secret.Remedy)
	}
	renewed := found.DeepCopy()
	renewed.Data = data
	_, err = k.client.CoreV1().Secrets(k.secret.Namespace).Update(ctx, renewed, metav1.UpdateOptions{FieldManager: k.secret.FieldManager})
	if apierrors.IsConflict(err) {
		return nil // another replica has renewed it
	}
	return err
}
