package servertest

import (
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// StartEtcd runs an etcd that listens on a port, as a cluster outside of the server
// does, and returns its URL. It uses TLS if it is given certificates.
func StartEtcd(t testing.TB, tls transport.TLSInfo) string {
	t.Helper()
	for range 10 {
		address, err := tryEtcd(t, tls)
		if err == nil {
			return address
		}
		// A connection of another test may have taken the port that was free.
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
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.LogLevel = "fatal"
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.ClientTLSInfo = tls
	cfg.ListenPeerUrls = nil
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*address}, []url.URL{*address}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return "", err
	}
	t.Cleanup(server.Close)
	select {
	case <-server.Server.ReadyNotify():
	case <-time.After(patience):
		t.Fatal("etcd is not ready in time")
	}
	return address.String(), nil
}
