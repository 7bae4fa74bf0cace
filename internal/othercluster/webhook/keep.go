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

// Keep implements Keys. It watches the Secret and renews its certificate. If the Secret is deleted or not valid,
// the last certificate stays in use.
func (k *secretKeys) Keep(ctx context.Context) {
	changed := make(chan *corev1.Secret, 1)
	update := func(obj any) {
		if found, isSecret := obj.(*corev1.Secret); isSecret {
			select {
			case <-changed: // an older state
			default:
			}
			changed <- found
		}
	}
	one := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "secrets", k.secret.Namespace,
		fields.OneTermEqualSelector("metadata.name", k.secret.Name))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &corev1.Secret{}, ResyncPeriod: renewalInterval,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: update, UpdateFunc: func(_, obj any) { update(obj) }},
	})
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { informer.RunWithContext(ctx) })
	k.follow(ctx, changed)
}

// follow uses each new state of the Secret. If the API server does not accept its certificate yet, follow tries
// it again after acceptInterval.
func (k *secretKeys) follow(ctx context.Context, changed <-chan *corev1.Secret) {
	ticker := time.NewTicker(acceptInterval)
	defer ticker.Stop()
	var waiting *corev1.Secret
	for {
		select {
		case <-ctx.Done():
			return
		case waiting = <-changed:
			k.acceptedSince = time.Time{}
		case <-ticker.C:
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
