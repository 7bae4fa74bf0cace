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

// The keys of the Secret, besides corev1.TLSCertKey and corev1.TLSPrivateKeyKey.
const (
	// AuthorityCertKey is the key of the certificate of the authority.
	AuthorityCertKey = "ca.crt"
	// AuthorityKeyKey is the key of the private key of the authority.
	AuthorityKeyKey = "ca.key"
)

// renewalInterval is the interval at which the manager checks whether the certificate has to
// be renewed.
const renewalInterval = time.Hour

// CompleteKeys returns the content of the Secret: an authority and a serving certificate for
// hosts, neither of which expires soon. It keeps the authority and the certificate in found
// if they are valid, and creates new ones otherwise.
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

// keys provides the serving certificate of the webhook.
type keys interface {
	// certificate returns the current certificate. It has the type of
	// tls.Config.GetCertificate.
	certificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// keep keeps the certificate up to date until ctx ends.
	keep(ctx context.Context)
}

// openKeys returns the keys in the files of the config, or else those in the Secret.
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
	return kept, kept.use(found)
}

// secretKeys is the certificate in the Secret.
type secretKeys struct {
	client  kubernetes.Interface
	current atomic.Pointer[tls.Certificate]
}

func (k *secretKeys) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return k.current.Load(), nil
}

// use makes the certificate in the Secret the current one.
func (k *secretKeys) use(found *corev1.Secret) error {
	pair, err := tls.X509KeyPair(found.Data[corev1.TLSCertKey], found.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("certificate of the webhook: secret %s/%s: %w", found.Namespace, found.Name, err)
	}
	k.current.Store(&pair)
	return nil
}

// keep watches the Secret and renews its certificate. If the Secret is deleted or not valid,
// the last certificate stays in use.
func (k *secretKeys) keep(ctx context.Context) {
	update := func(obj any) {
		found, isSecret := obj.(*corev1.Secret)
		if !isSecret {
			return
		}
		err := k.use(found)
		if err == nil {
			err = k.renew(ctx, found)
		}
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "certificate of the webhook is not renewed")
		}
	}
	one := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "secrets", Namespace,
		fields.OneTermEqualSelector("metadata.name", Secret))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &corev1.Secret{}, ResyncPeriod: renewalInterval,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: update, UpdateFunc: func(_, obj any) { update(obj) }},
	})
	informer.RunWithContext(ctx)
}

// renew replaces a certificate that expires soon by one for the same hosts. It does not
// replace the authority: package setup does that, and updates the webhook configurations.
func (k *secretKeys) renew(ctx context.Context, found *corev1.Secret) error {
	if len(found.Data[AuthorityKeyKey]) == 0 {
		return nil // without the key of the authority, another program renews the Secret
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
		return errors.New("its authority expires soon: run \"holdfast kudo init\" again")
	}
	renewed := found.DeepCopy()
	renewed.Data = data
	_, err = k.client.CoreV1().Secrets(Namespace).Update(ctx, renewed, metav1.UpdateOptions{FieldManager: Name})
	if apierrors.IsConflict(err) {
		return nil // another replica has renewed it
	}
	return err
}

// hostsOf returns the host names and IP addresses of a certificate.
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
