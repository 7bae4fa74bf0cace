package manager

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/access"
)

// What the Secret has beside corev1.TLSCertKey and corev1.TLSPrivateKeyKey.
const (
	AuthorityCertKey = "ca.crt"
	AuthorityKeyKey  = "ca.key"
)

// lookEvery is how often it is seen whether a certificate is near its end.
const lookEvery = time.Hour

// CompleteKeys is the content of the Secret with an authority and a certificate for
// some hosts that are good for a while yet. What is good already stays as it is.
func CompleteKeys(found map[string][]byte, hosts []string, now time.Time) (map[string][]byte, error) {
	pair := access.KeyPair{Cert: found[AuthorityCertKey], Key: found[AuthorityKeyKey]}
	authority, err := access.ParseAuthority(pair)
	if err != nil || authority.ExpiresSoon(now) {
		if authority, pair, err = access.NewAuthority(now); err != nil {
			return nil, err
		}
	}
	subject := access.Subject{User: Secret, Hosts: hosts}
	serving := access.KeyPair{Cert: found[corev1.TLSCertKey], Key: found[corev1.TLSPrivateKeyKey]}
	if !authority.Fits(serving, subject, now) {
		if serving, err = authority.Issue(subject, now); err != nil {
			return nil, err
		}
	}
	return map[string][]byte{
		AuthorityCertKey: pair.Cert, AuthorityKeyKey: pair.Key,
		corev1.TLSCertKey: serving.Cert, corev1.TLSPrivateKeyKey: serving.Key,
	}, nil
}

// keys are what the webhook shows.
type keys interface {
	certificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// keep keeps them good until ctx ends.
	keep(ctx context.Context)
}

func openKeys(ctx context.Context, config Config, client kubernetes.Interface) (keys, error) {
	if config.CertFile != "" || config.KeyFile != "" {
		return openFiles(config.CertFile, config.KeyFile)
	}
	kept := &secretKeys{client: client}
	found, err := client.CoreV1().Secrets(Namespace).Get(ctx, Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("certificate of the webhook: %w: run \"holdfast kudo init\" first", err)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: %w", err)
	}
	return kept, kept.take(found)
}

// secretKeys are those of the Secret, whatever becomes of it.
type secretKeys struct {
	client  kubernetes.Interface
	current atomic.Pointer[tls.Certificate]
}

func (k *secretKeys) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return k.current.Load(), nil
}

// take shows the certificate of the Secret from now on.
func (k *secretKeys) take(found *corev1.Secret) error {
	pair, err := tls.X509KeyPair(found.Data[corev1.TLSCertKey], found.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("certificate of the webhook: secret %s/%s: %w", found.Namespace, found.Name, err)
	}
	k.current.Store(&pair)
	return nil
}

// keep follows the Secret, and renews its certificate. A Secret that is deleted or
// broken leaves what was there last.
func (k *secretKeys) keep(ctx context.Context) {
	look := func(obj any) {
		found, isSecret := obj.(*corev1.Secret)
		if !isSecret {
			return
		}
		err := k.take(found)
		if err == nil {
			err = k.renew(ctx, found)
		}
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "certificate of the webhook is not renewed")
		}
	}
	one := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "secrets", Namespace, fields.OneTermEqualSelector("metadata.name", Secret))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &corev1.Secret{}, ResyncPeriod: lookEvery,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, obj any) { look(obj) }},
	})
	informer.RunWithContext(ctx)
}

// renew replaces a certificate that is near its end by one for the same hosts. The
// authority is for package setup to replace, with all who trust it.
func (k *secretKeys) renew(ctx context.Context, found *corev1.Secret) error {
	if len(found.Data[AuthorityKeyKey]) == 0 {
		return nil // it is somebody else's to renew
	}
	hosts, err := hostsOf(k.current.Load())
	if err != nil {
		return err
	}
	data, err := CompleteKeys(found.Data, hosts, time.Now())
	if err != nil || bytes.Equal(data[corev1.TLSCertKey], found.Data[corev1.TLSCertKey]) {
		return err
	}
	if !bytes.Equal(data[AuthorityCertKey], found.Data[AuthorityCertKey]) {
		return errors.New("its authority is near its end: run \"holdfast kudo init\" again")
	}
	renewed := found.DeepCopy()
	renewed.Data = data
	_, err = k.client.CoreV1().Secrets(Namespace).Update(ctx, renewed, metav1.UpdateOptions{FieldManager: Name})
	if apierrors.IsConflict(err) {
		return nil // a replica was faster
	}
	return err
}

func hostsOf(pair *tls.Certificate) ([]string, error) {
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, err
	}
	hosts := leaf.DNSNames
	for _, ip := range leaf.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts, nil
}
