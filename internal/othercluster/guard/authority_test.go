package guard_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/othercluster/guard"
	"holdfast.dev/holdfast/internal/waittest"
)

// TestAuthority checks that a guard replaces an authority that expires soon, and that the API server reaches it all the
// time.
func TestAuthority(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.run()
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
	waittest.Until(t, "the guard is asked", func() bool { return change() != "ok" })
	first := f.servedCertificate()
	expiring := f.expiringAuthority()
	overlapped := false
	waittest.Until(t, "the authority is replaced", func() bool {
		if got := change(); !strings.HasPrefix(got, "BadRequest: ") {
			t.Fatal(got)
		}
		overlapped = overlapped || bytes.Count(f.bundle(), []byte("BEGIN CERTIFICATE")) > 1
		served := f.servedCertificate()
		return !bytes.Equal(served, first) && !bytes.Equal(served, expiring)
	})
	if got := change(); !strings.HasPrefix(got, "BadRequest: ") {
		t.Error(got)
	}
	if !overlapped {
		t.Error("the configuration never had both authorities")
	}
}

// expiringAuthority puts keys of an authority that expires in a month into the Secret. It returns the serving certificate.
func (f *fixture) expiringAuthority() []byte {
	f.Helper()
	keys, err := guard.Certificates().Complete(nil, []string{"127.0.0.1"}, time.Now().Add(-(10*365-30)*24*time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	authority, err := access.ParseAuthority(access.KeyPair{Cert: keys["ca.crt"], Key: keys["ca.key"]})
	if err != nil {
		f.Fatal(err)
	}
	pair, err := authority.Issue(access.Subject{User: guard.SecretName, Hosts: []string{"127.0.0.1"}}, time.Now())
	if err != nil {
		f.Fatal(err)
	}
	keys["tls.crt"], keys["tls.key"] = pair.Cert, pair.Key
	secrets := f.server.Client(f.T).CoreV1().Secrets(guard.Namespace)
	found, err := secrets.Get(f.Context(), guard.SecretName, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	found.Data = keys
	if _, err := secrets.Update(f.Context(), found, metav1.UpdateOptions{}); err != nil {
		f.Fatal(err)
	}
	loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		f.Fatal(err)
	}
	return loaded.Certificate[0]
}

// servedCertificate returns the certificate that the guard answers with.
func (f *fixture) servedCertificate() []byte {
	f.Helper()
	// The test compares the certificate and sends nothing.
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	connection, err := dialer.DialContext(f.Context(), "tcp", strings.TrimPrefix(f.url, "https://"))
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	secure, ok := connection.(*tls.Conn)
	if !ok {
		f.Fatal("not a TLS connection")
	}
	return secure.ConnectionState().PeerCertificates[0].Raw
}

// bundle returns the authorities in the webhook configuration.
func (f *fixture) bundle() []byte {
	f.Helper()
	configurations := f.server.Client(f.T).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	found, err := configurations.Get(f.Context(), guard.Name, metav1.GetOptions{})
	if err != nil || len(found.Webhooks) == 0 {
		f.Fatalf("configuration: %v", err)
	}
	return found.Webhooks[0].ClientConfig.CABundle
}
