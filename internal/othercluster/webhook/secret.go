package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/access"
)

// The keys of the Secret, besides corev1.TLSCertKey and corev1.TLSPrivateKeyKey.
const (
	// AuthorityCertKey is the key of the certificate of the authority.
	AuthorityCertKey = "ca.crt"
	// AuthorityKeyKey is the key of the private key of the authority.
	AuthorityKeyKey = "ca.key"
)

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
	// Acceptance says when a changed Secret is used. Without it, Keep does not replace the authority.
	Acceptance
	// Hosts are the hosts of the certificate in a Secret that Open creates.
	Hosts []string
}

// Open reads the certificate in the Secret. If there is no Secret, it creates one for Hosts. It returns an error that
// names Remedy if there are no Hosts, if the client may not create it, or if its namespace does not exist.
func (s Secret) Open(ctx context.Context, client kubernetes.Interface) (Keys, error) {
	kept := &secretKeys{secret: s, client: client, adoption: adoption{Acceptance: s.Acceptance}}
	found, err := client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		missing := fmt.Errorf("certificate of the webhook: %w: run %q first", err, s.Remedy)
		if len(s.Hosts) == 0 {
			return nil, missing
		}
		if found, err = s.create(ctx, client); apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return nil, missing
		}
	}
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: %w", err)
	}
	pair, err := parsePair(found)
	if err != nil {
		return nil, err
	}
	kept.current.Store(pair)
	return kept, nil
}

// create creates the Secret. If another replica was faster, it returns that Secret.
func (s Secret) create(ctx context.Context, client kubernetes.Interface) (*corev1.Secret, error) {
	data, err := s.Complete(nil, s.Hosts, time.Now())
	if err != nil {
		return nil, err
	}
	secrets := client.CoreV1().Secrets(s.Namespace)
	created, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name}, Type: corev1.SecretTypeTLS, Data: data,
	}, metav1.CreateOptions{FieldManager: s.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return secrets.Get(ctx, s.Name, metav1.GetOptions{})
	}
	return created, err
}

// secretKeys is the certificate in a Secret.
type secretKeys struct {
	secret Secret
	client kubernetes.Interface
	adoption
}

// parsePair returns the certificate in a Secret.
func parsePair(found *corev1.Secret) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(found.Data[corev1.TLSCertKey], found.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: secret %s/%s: %w", found.Namespace, found.Name, err)
	}
	return &pair, nil
}

// hostsOf returns the host names and IP addresses of a certificate.
func hostsOf(pair *tls.Certificate) ([]string, error) {
	leaf, err := leafOf(pair)
	if err != nil {
		return nil, err
	}
	hosts := leaf.DNSNames
	for _, ip := range leaf.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts, nil
}
