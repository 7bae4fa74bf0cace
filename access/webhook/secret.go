package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
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

// renewalInterval is the interval at which a certificate in a Secret is checked.
const renewalInterval = time.Hour

// Complete returns the content of the Secret: an authority and a serving certificate for
// hosts, neither of which expires soon. It keeps the authority and the certificate in found
// if they are valid, and creates new ones otherwise.
func (s Secret) Complete(found map[string][]byte, hosts []string, now time.Time) (map[string][]byte, error) {
	pair := access.KeyPair{Cert: found[AuthorityCertKey], Key: found[AuthorityKeyKey]}
	authority, err := access.ParseAuthority(pair)
	if err != nil || authority.ExpiresSoon(now) {
		if authority, pair, err = access.NewAuthority(now); err != nil {
			return nil, err
		}
	}
	subject := access.Subject{User: s.Name, Hosts: hosts}
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

// Keys provides the serving certificate of a webhook.
type Keys interface {
	// Certificate returns the current certificate. It has the type of
	// tls.Config.GetCertificate.
	Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Keep keeps the certificate up to date until ctx ends.
	Keep(ctx context.Context)
}

// Secret is a Secret with an authority and a serving certificate.
type Secret struct {
	Namespace, Name string
	// FieldManager is the field manager of renewals.
	FieldManager string
	// Remedy is the command that creates the Secret, and replaces its authority.
	Remedy string
}

// Open reads the certificate in the Secret.
func (s Secret) Open(ctx context.Context, client kubernetes.Interface) (Keys, error) {
	kept := &secretKeys{secret: s, client: client}
	found, err := client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("certificate of the webhook: %w: run %q first", err, s.Remedy)
	}
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: %w", err)
	}
	return kept, kept.use(found)
}

// secretKeys is the certificate in a Secret.
type secretKeys struct {
	secret  Secret
	client  kubernetes.Interface
	current atomic.Pointer[tls.Certificate]
}

// Certificate implements Keys.
func (k *secretKeys) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
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

// Keep implements Keys. It watches the Secret and renews its certificate. If the Secret is deleted or not valid,
// the last certificate stays in use.
func (k *secretKeys) Keep(ctx context.Context) {
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
	one := cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "secrets", k.secret.Namespace,
		fields.OneTermEqualSelector("metadata.name", k.secret.Name))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: one, ObjectType: &corev1.Secret{}, ResyncPeriod: renewalInterval,
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: update, UpdateFunc: func(_, obj any) { update(obj) }},
	})
	informer.RunWithContext(ctx)
}

// renew replaces a certificate that expires soon by one for the same hosts. It does not
// replace the authority, because the webhook configurations have its certificate too.
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
	if !bytes.Equal(data[AuthorityCertKey], found.Data[AuthorityCertKey]) {
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
