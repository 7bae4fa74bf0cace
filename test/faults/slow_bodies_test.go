package faults_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/waittest"
)

// byteEvery is the time between two bytes of a slow client.
const byteEvery = time.Second

// slowBodies opens connections, and sends the headers or the body of a request on each, one byte a second.
func (a *attacker) slowBodies(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for i := range either(100, 2000) {
		conn, err := dial(a.config)
		if err != nil {
			break
		}
		text := slowRequest(a.config)
		if i%2 == 0 {
			text = text[:20]
		}
		running.Go(func() {
			defer func() { _ = conn.Close() }()
			trickle(ctx, conn, text)
		})
	}
}

// dial opens a connection as a user with a certificate, for HTTP/1.
func dial(config *rest.Config) (*tls.Conn, error) {
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(config.CAData)
	return tls.Dial("tcp", strings.TrimPrefix(config.Host, "https://"), &tls.Config{
		RootCAs: authorities, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
	})
}

// slowRequest returns the headers of a request with a body that is announced and not sent.
func slowRequest(config *rest.Config) string {
	return "POST " + hostilePath + " HTTP/1.1\r\nHost: localhost\r\nImpersonate-User: " + config.Impersonate.UserName + "\r\n" +
		"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
}

// trickle sends a text, and then one byte after the other until ctx ends or the server ends the connection.
func trickle(ctx context.Context, conn *tls.Conn, text string) {
	if _, err := conn.Write([]byte(text)); err != nil {
		return
	}
	for tick := time.Tick(byteEvery); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if _, err := conn.Write([]byte(" ")); err != nil {
			return
		}
	}
}

// A client sends the body of a request one byte a second. The server does not wait for its end, and the client
// reads why.
func TestSlowBody(t *testing.T) {
	if !long() {
		t.Skip("the server waits ten seconds; package fairness has a test with a shorter time")
	}
	t.Parallel()
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.start(t)
	grantEverything(t, server.client.Load())
	config := userConfig(t, server, "mallory")
	waitForRights(t, config)
	conn, err := dial(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	go trickle(ctx, conn, slowRequest(config))
	if err := conn.SetReadDeadline(time.Now().Add(waittest.Patience)); err != nil {
		t.Fatal(err)
	}
	answered, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answered.Body.Close() }()
	if answered.StatusCode != http.StatusRequestTimeout {
		t.Errorf("answer %s, want 408", answered.Status)
	}
}
