package guard_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
)

// selfSigned returns the keys that cert-manager makes with a self-signed Issuer: a serving certificate that is its own authority, in
// the keys of the Secret. A renewed certificate has a new key, so its authority is another one.
func selfSigned(t *testing.T) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: fmt.Sprint(number)}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(90 * 24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return map[string][]byte{
		"ca.crt": cert, "tls.crt": cert, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}
}

// TestCertificatesOfOthers replaces the keys of a running guard, in the Secret as cert-manager does, and in files. The API server asks
// the guard all the time, and no review fails.
func TestCertificatesOfOthers(t *testing.T) {
	t.Parallel()
	t.Run("Secret", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.install()
		// cert-manager replaces tls.crt, tls.key and ca.crt in one write. There is no ca.key.
		f.rotated(func(keys map[string][]byte) {
			secrets := f.server.Client(t).CoreV1().Secrets(guard.Namespace)
			found, err := secrets.Get(t.Context(), guard.SecretName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found.Data, found.Type = keys, corev1.SecretTypeTLS
			found.Annotations = map[string]string{"cert-manager.io/certificate-name": guard.Name}
			if _, err := secrets.Update(t.Context(), found, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		f := start(t)
		f.install()
		dir := t.TempDir()
		f.files = []string{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")}
		f.rotated(func(keys map[string][]byte) {
			for _, file := range f.files {
				if err := os.WriteFile(file, keys[filepath.Base(file)], 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

// rotated writes keys, runs a guard, and replaces the keys while the guard is asked.
func (f *fixture) rotated(write func(keys map[string][]byte)) {
	f.Helper()
	write(selfSigned(f.T))
	f.serve()
	f.create(definitions, widgetsDefinition)
	f.create(policies, `
apiVersion: guard.holdfast.dev/v1alpha1
kind: ImmutabilityPolicy
metadata: {name: sizes}
spec: {resources: [widgets.example.com], rules: [immutable spec.size]}
`)
	f.create(widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {size: small}}`)
	tries := 0
	change := func() string {
		tries++
		return f.patch(widgets, "w", fmt.Sprintf(`{spec: {size: s%d}}`, tries))
	}
	waittest.Until(f.T, "the guard is asked", func() bool { return strings.HasPrefix(change(), "BadRequest: ") })
	keys := selfSigned(f.T)
	wanted, _ := pem.Decode(keys["tls.crt"])
	write(keys)
	waittest.Until(f.T, "the new certificate is used", func() bool {
		if got := change(); !strings.HasPrefix(got, "BadRequest: ") {
			f.Fatalf("a review failed: %s", got)
		}
		return bytes.Equal(f.acceptedCertificate(), wanted.Bytes)
	})
	if got := change(); !strings.HasPrefix(got, "BadRequest: ") {
		f.Errorf("after the change: %s", got)
	}
}

// acceptedCertificate connects to the guard as an API server does that has no open connection. The authorities are those in the
// webhook configuration. It returns the certificate of the guard.
func (f *fixture) acceptedCertificate() []byte {
	f.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(f.bundle())
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(f.Context(), "tcp", strings.TrimPrefix(f.url, "https://"))
	if err != nil {
		f.Fatalf("a new connection of the API server fails: %v", err)
	}
	defer func() { _ = connection.Close() }()
	secure, ok := connection.(*tls.Conn)
	if !ok {
		f.Fatal("not a TLS connection")
	}
	return secure.ConnectionState().PeerCertificates[0].Raw
}
