package servertest

import (
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"

	"holdfast.dev/holdfast/internal/waittest"
)

// StartEtcd runs an etcd that listens on a port, like a cluster outside of the process.
// It returns the URL. With certificates in tls it serves TLS. It ends with the test.
func StartEtcd(t testing.TB, tls transport.TLSInfo) string {
	t.Helper()
	for range 10 {
		address, err := tryEtcd(t, tls)
		if err == nil {
			return address
		}
		// Another process may have got the port that was free a moment ago.
		if !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			t.Fatal(err)
		}
	}
	t.Fatal("no port is free")
	return ""
}

// tryEtcd runs an etcd on a port that was free a moment ago.
func tryEtcd(t testing.TB, tls transport.TLSInfo) (string, error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	if !tls.Empty() {
		address.Scheme = "https"
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	config := embed.NewConfig()
	config.Dir = t.TempDir()
	config.LogLevel = "fatal"
	config.TickMs, config.ElectionMs = 10, 100
	config.ClientTLSInfo = tls
	config.ListenPeerUrls = nil
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*address}, []url.URL{*address}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return "", err
	}
	t.Cleanup(server.Close)
	waittest.Receive(t, "etcd is ready", server.Server.ReadyNotify())
	return address.String(), nil
}
