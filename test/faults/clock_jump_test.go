package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/waittest"
)

const (
	hour = time.Hour
	// born is the clock of the server at its first start.
	born = -48 * hour
	// years is after the end of every certificate of that start, and before the end of the authority.
	years = 400 * 24 * hour
)

// clockServer is a server whose clock is set. Its client has a clock too.
type clockServer struct {
	*server
	client *client
}

// startAt starts the server with a clock.
func (s *clockServer) startAt(t *testing.T, offset time.Duration) error {
	t.Helper()
	launchAt(t, func(p *process) { s.end(t, p) }, offset, "holdfast", s.flags...)
	if _, err := s.firstLine(); err != nil {
		return err
	}
	c, err := newClient(s.kubeconfig())
	if err != nil {
		return err
	}
	s.server.client.Store(c)
	s.streams.watch(t, s.server)
	return nil
}

// connect reads the kubeconfig again. The client uses another clock to judge certificates.
func (s *clockServer) connect(offset time.Duration, token string) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig())
	if err != nil {
		return err
	}
	if token != "" {
		config.BearerToken, config.CertData, config.KeyData = token, nil, nil
	}
	verify, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	verify.Time = func() time.Time { return time.Now().Add(offset) }
	config.Transport = &http.Transport{TLSClientConfig: verify, DisableKeepAlives: true}
	config.TLSClientConfig, config.QPS = rest.TLSClientConfig{}, -1
	s.client, err = clientFor(&rest.Config{Host: config.Host, Transport: config.Transport, BearerToken: config.BearerToken, QPS: -1})
	return err
}

// as returns the code of the answer to a request with a credential: that of the administrator, or a token.
func (s *clockServer) as(t *testing.T, token string) int {
	t.Helper()
	if err := s.connect(0, token); err != nil {
		t.Fatal(err)
	}
	return s.client.get(t.Context(), "/version").code
}

// works writes an object, reads it and deletes it.
func (s *clockServer) works(ctx context.Context, offset time.Duration) error {
	if err := s.connect(offset, ""); err != nil {
		return err
	}
	const all = "/api/v1/namespaces/default/configmaps"
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "probe"}}
	if a := s.client.create(ctx, all, object); a.err != nil && a.code != http.StatusConflict {
		return a.err
	}
	if a := s.client.get(ctx, all+"/probe"); a.err != nil {
		return a.err
	}
	return s.client.delete(ctx, all+"/probe").err
}

// token returns a token of an hour.
func (s *clockServer) token(t *testing.T) string {
	t.Helper()
	token := ""
	// The controllers create the service account.
	waittest.Until(t, "the server issues a token", func() error {
		a := s.client.create(t.Context(), "/api/v1/namespaces/default/serviceaccounts/default/token", map[string]any{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{"expirationSeconds": 3600},
		})
		token, _, _ = unstructured.NestedString(a.object, "status", "token")
		return a.err
	})
	return token
}

// The Leases that the tests look at.
const (
	controllersLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/holdfast-controllers"
	agentLease       = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/host-1"
)

// renewed returns an error until the holder of a Lease has renewed it at the time of its clock.
func (s *clockServer) renewed(ctx context.Context, lease string, offset time.Duration) error {
	if err := s.connect(0, ""); err != nil {
		return err
	}
	a := s.client.get(ctx, lease)
	text, _, _ := unstructured.NestedString(a.object, "spec", "renewTime")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return errors.Join(err, a.err)
	}
	if difference := time.Now().Add(offset).Sub(at).Abs(); difference > time.Minute {
		return fmt.Errorf("the Lease was renewed at %s, %s from the clock of its holder", text, difference)
	}
	// On a busy machine, a server may lose its Lease and take it again.
	transitions, _, _ := unstructured.NestedInt64(a.object, "spec", "leaseTransitions")
	if long() && transitions > 1 {
		return fmt.Errorf("the Lease had %d transitions", transitions)
	}
	return nil
}

// TestClock sets the clock of a server forward and back, by hours and by years.
func TestClock(t *testing.T) {
	t.Parallel()
	const life = 20 * time.Second
	s := &clockServer{server: newServer(t.TempDir(), "--event-ttl="+life.String())}
	if err := s.startAt(t, born); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server works", func() error { return s.works(t.Context(), 0) })
	waittest.Until(t, "the leader renews the Lease of the controllers", func() error { return s.renewed(t.Context(), controllersLease, born) })
	first := s.token(t)
	const event = "/api/v1/namespaces/default/events"
	begin := time.Now()
	made := s.client.create(t.Context(), event, map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": "probe"},
		"involvedObject": map[string]any{"namespace": "default"},
	})
	if made.err != nil {
		t.Fatal(made.err)
	}
	expect := func(when string, code int, token string) {
		t.Helper()
		if got := s.as(t, token); got != code {
			t.Errorf("%s: code %d, want %d", when, got, code)
		}
	}
	expect("a new token", http.StatusOK, first)

	s.setClock(t, born+3*hour)
	if err := s.works(t.Context(), 0); err != nil {
		t.Error("three hours later: ", err)
	}
	// On a busy machine, the life of the event may really be over.
	if a := s.client.get(t.Context(), event+"/probe"); a.err != nil && time.Since(begin) < life {
		t.Error("an event of some seconds, three hours later: ", a.err)
	}
	waittest.Until(t, "the leader renews the Lease three hours later", func() error { return s.renewed(t.Context(), controllersLease, born+3*hour) })
	second := s.token(t)
	expect("a token of an hour, three hours later", http.StatusUnauthorized, first)
	expect("a token after the clock was set", http.StatusOK, second)

	s.setClock(t, born-3*hour)
	expect("a certificate that has not begun", http.StatusUnauthorized, "")
	expect("a token that has not begun", http.StatusUnauthorized, second)

	s.setClock(t, born)
	if err := s.works(t.Context(), 0); err != nil {
		t.Error("at the right time again: ", err)
	}
	expect("the first token at the right time", http.StatusOK, first)
	waittest.Until(t, "the leader renews the Lease at the right time", func() error { return s.renewed(t.Context(), controllersLease, born) })
	waittest.Until(t, "the server deletes the event at the end of its life", func() error {
		if a := s.client.get(t.Context(), event+"/probe"); a.code != http.StatusNotFound {
			return errors.New("the event is still there")
		}
		return nil
	})
	s.checkYears(t)
}

// checkYears sets the clock to a time after the end of the certificates, and back. The server renews them both times.
func (s *clockServer) checkYears(t *testing.T) {
	t.Helper()
	s.setClock(t, years)
	waittest.Until(t, "the server works years later", func() error { return s.works(t.Context(), years) })
	s.setClock(t, born)
	waittest.Until(t, "the server works at the right time", func() error { return s.works(t.Context(), 0) })
	s.kill()
	if err := s.startAt(t, born-3*hour); err == nil || !strings.Contains(err.Error(), "set the clock") {
		t.Errorf("a start before the authority begins: %v", err)
	}
	if err := s.startAt(t, 12*365*24*hour); err == nil || !strings.Contains(err.Error(), "set the clock if it is wrong") {
		t.Errorf("a start after the authority has ended: %v", err)
	}
	if err := s.startAt(t, 0); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server works after its start", func() error { return s.works(t.Context(), 0) })
}
