package manager_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/othercluster/installation"
	"holdfast.dev/holdfast/internal/othercluster/manager"
	"holdfast.dev/holdfast/internal/othercluster/manager/setup"
	"holdfast.dev/holdfast/internal/waittest"
)

const day = 24 * time.Hour

// cluster starts a server that is set up for a manager on this host.
func cluster(t *testing.T) *servertest.Server {
	t.Helper()
	server := servertest.Start(t, apiserver.Config{WithoutOperators: true})
	installer, err := setup.New(server.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	config := setup.Config{WebhookURL: &url.URL{Scheme: "https", Host: "127.0.0.1:9"}}
	if err := installer.Install(t.Context(), config, func(installation.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	return server
}

// run runs a manager until the test ends. It returns the addresses of its webhook and of its
// health checks.
func run(t *testing.T, config manager.Config) (webhook, health string) {
	t.Helper()
	var err error
	for _, listener := range []*net.Listener{&config.Webhook, &config.Health} {
		if *listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ready := make(chan struct{})
	config.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(ctx, config) }()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		t.Fatalf("manager: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("manager ended with %v", err)
		}
	})
	return config.Webhook.Addr().String(), config.Health.Addr().String()
}

// served returns the certificate that an address serves, nil if the authority has not signed
// it.
func served(t *testing.T, address string, authority []byte) *x509.Certificate {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// TestRenewal checks that the manager renews a certificate that expires soon, with the same
// authority, and uses it without a restart. It also uses keys that another client stores.
func TestRenewal(t *testing.T) {
	t.Parallel()
	server := cluster(t)
	secrets := server.Client(t).CoreV1().Secrets(manager.Namespace)
	store := func(keys map[string][]byte) {
		t.Helper()
		waittest.Until(t, "the secret has other keys", func() error {
			secret, err := secrets.Get(t.Context(), manager.Secret, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			secret.Data = keys
			_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
			return err
		})
	}
	keys := func(ago time.Duration) map[string][]byte {
		t.Helper()
		created, err := manager.CompleteKeys(nil, []string{"127.0.0.1"}, time.Now().Add(-ago))
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	old := keys(320 * day)
	store(old)
	webhook, health := run(t, manager.Config{Client: server.Config(t)})
	waittest.Until(t, "a certificate for another year", func() bool {
		cert := served(t, webhook, old["ca.crt"])
		return cert != nil && time.Until(cert.NotAfter) > 300*day
	})
	secret, err := secrets.Get(t.Context(), manager.Secret, metav1.GetOptions{})
	if err != nil || !bytes.Equal(secret.Data["ca.crt"], old["ca.crt"]) || bytes.Equal(secret.Data["tls.crt"], old["tls.crt"]) {
		t.Errorf("the secret is not renewed by its authority: %v", err)
	}
	other := keys(0)
	store(other)
	waittest.Until(t, "the other certificate", func() bool { return served(t, webhook, other["ca.crt"]) != nil })
	// Invalid keys are ignored.
	store(map[string][]byte{"tls.crt": []byte("?"), "tls.key": []byte("?")})
	if served(t, webhook, other["ca.crt"]) == nil {
		t.Error("the last valid certificate is not used")
	}

	for path, want := range map[string]string{
		"/healthz": "ok", "/livez": "ok", "/readyz": "ok", "/metrics": "go_goroutines",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+health+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d, %v", path, response.StatusCode, err)
		}
	}
}

// TestFiles checks that the manager uses a certificate from files.
func TestFiles(t *testing.T) {
	t.Parallel()
	server := cluster(t)
	keys, err := manager.CompleteKeys(nil, []string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range keys {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	webhook, _ := run(t, manager.Config{
		Client: server.Config(t), CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
	})
	if served(t, webhook, keys["ca.crt"]) == nil {
		t.Error("another certificate is used")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	err := manager.Run(t.Context(), manager.Config{})
	if err == nil || err.Error() != "manager: a client and a listener are required" {
		t.Errorf("no client: %v", err)
	}
}
