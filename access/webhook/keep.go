package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
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

const (
	// renewalInterval is the interval at which a certificate in a Secret is checked.
	renewalInterval = time.Hour
	// acceptInterval is the interval at which the API server is asked whether it accepts a new certificate.
	acceptInterval = time.Second
	// settleTime is the time for which the API server must have accepted a new certificate before it is used: other API
	// servers learn of the authority a moment later.
	settleTime = 3 * time.Second
)

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
		used, err := k.adopt(ctx, waiting)
		if err == nil && used {
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

// adopt makes the certificate in the Secret the current one, if the API server accepts it or the current one has
// expired. used is false if it has to be tried again.
func (k *secretKeys) adopt(ctx context.Context, found *corev1.Secret) (used bool, err error) {
	pair, err := parsePair(found)
	if err != nil {
		return false, err
	}
	current, now := k.current.Load(), time.Now()
	if k.secret.Accepts == nil || bytes.Equal(current.Certificate[0], pair.Certificate[0]) || hasExpired(current, now) {
		k.current.Store(pair)
		return true, nil
	}
	if k.secret.Waiting != nil {
		k.secret.Waiting()
	}
	accepted, err := k.secret.Accepts(ctx, pair)
	switch {
	case err != nil:
		klog.ErrorS(err, "the last certificate of the webhook stays in use")
		return false, nil
	case !accepted:
		k.acceptedSince = time.Time{}
		return false, nil
	case k.acceptedSince.IsZero():
		k.acceptedSince = now
	}
	if now.Sub(k.acceptedSince) < settleTime {
		// If the API server does not accept the current certificate, there is no reason to wait.
		still, err := k.secret.Accepts(ctx, current)
		if err != nil {
			klog.ErrorS(err, "the last certificate of the webhook stays in use")
			return false, nil
		}
		if still {
			return false, nil
		}
	}
	k.current.Store(pair)
	return true, nil
}

func hasExpired(pair *tls.Certificate, now time.Time) bool {
	leaf, err := leafOf(pair)
	return err != nil || now.After(leaf.NotAfter)
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
	if k.secret.Accepts == nil && !bytes.Equal(data[AuthorityCertKey], found.Data[AuthorityCertKey]) {
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
