package node

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// A certificate is renewed when this part of its life is over, a little
	// earlier or later by chance.
	certificateUse    = 0.7
	certificateSpread = 0.2
	// renewRetry is when a renewal that did not work is tried again.
	renewRetry = 10 * time.Minute
	renewLimit = 15 * time.Minute
	renewPoll  = 2 * time.Second
)

// Credential is the client certificate of a node, in a file that is replaced
// before it expires. Clients of the configuration that it was put into take up
// the new one by themselves.
type Credential struct {
	name, file string
	clock      clock.WithTicker
}

// KeepCredential puts the certificate of a configuration into a file under the
// root and has the configuration use that. A certificate that is there already
// and lasts longer stays. A configuration without one is left as it is, and the
// credential is nil: there is nothing to renew.
func KeepCredential(config *rest.Config, name, root string) (*Credential, error) {
	cert, key := config.CertData, config.KeyData
	var err error
	if len(cert) == 0 && config.CertFile != "" {
		if cert, err = os.ReadFile(config.CertFile); err != nil {
			return nil, err
		}
	}
	if len(key) == 0 && config.KeyFile != "" {
		if key, err = os.ReadFile(config.KeyFile); err != nil {
			return nil, err
		}
	}
	if len(cert) == 0 || len(key) == 0 {
		return nil, nil
	}
	given, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate: %w", err)
	}
	c := &Credential{name: name, file: filepath.Join(root, "credential", "client.pem"), clock: clock.RealClock{}}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err != nil {
		return nil, err
	}
	kept, err := tls.LoadX509KeyPair(c.file, c.file)
	switch {
	case err == nil && kept.Leaf.Subject.String() == given.Leaf.Subject.String() &&
		kept.Leaf.Issuer.String() == given.Leaf.Issuer.String() && kept.Leaf.NotAfter.After(given.Leaf.NotAfter):
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		klog.ErrorS(err, "the certificate is replaced by that of the kubeconfig", "file", c.file)
		fallthrough
	default:
		if err := save(c.file, bytes.Join([][]byte{cert, key}, []byte("\n"))); err != nil {
			return nil, err
		}
	}
	config.CertData, config.KeyData = nil, nil
	config.CertFile, config.KeyFile = c.file, c.file
	return c, nil
}

// Run renews the certificate, each time before it expires, until ctx ends.
func (c *Credential) Run(ctx context.Context, client kubernetes.Interface) {
	for {
		left, err := c.left()
		if err == nil && left <= 0 {
			err = c.renew(ctx, client)
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "the certificate is not renewed; will be tried again", "node", c.name)
			left = renewRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-c.clock.After(left):
		}
	}
}

// left is how long the certificate is still used.
func (c *Credential) left() (time.Duration, error) {
	pair, err := tls.LoadX509KeyPair(c.file, c.file)
	if err != nil {
		return 0, err
	}
	life := pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore)
	use := wait.Jitter(time.Duration(float64(life)*certificateUse), certificateSpread)
	return pair.Leaf.NotBefore.Add(use).Sub(c.clock.Now()), nil
}

// renew asks for a certificate with a new key and puts it in place of the old.
func (c *Credential) renew(ctx context.Context, client kubernetes.Interface) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + c.name, Organization: []string{"system:nodes"}},
	}, key)
	if err != nil {
		return err
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	request, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("request a certificate: %w", err)
	}
	cert, err := signed(ctx, client, request.Name)
	if err != nil {
		return fmt.Errorf("certificate request %s: %w", request.Name, err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	return save(c.file, bytes.Join([][]byte{cert, keyPEM}, []byte("\n")))
}

// signed waits until a request is approved and signed.
func signed(ctx context.Context, client kubernetes.Interface, name string) (cert []byte, err error) {
	err = wait.PollUntilContextTimeout(ctx, renewPoll, renewLimit, true, func(ctx context.Context) (bool, error) {
		request, err := client.CertificatesV1().CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range request.Status.Conditions {
			if condition.Type == certificatesv1.CertificateDenied || condition.Type == certificatesv1.CertificateFailed {
				return false, fmt.Errorf("%s: %s", condition.Type, condition.Message)
			}
		}
		cert = request.Status.Certificate
		return len(cert) > 0, nil
	})
	return cert, err
}
