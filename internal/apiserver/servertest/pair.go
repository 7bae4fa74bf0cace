package servertest

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	"holdfast.dev/holdfast/internal/waittest"
)

// EtcdPair is an etcd cluster of two members, of which one has a URL for clients.
type EtcdPair struct {
	// URL is the URL of the first member.
	URL   string
	first *embed.Etcd
	// stopSecond stops the second member. Another call does nothing.
	stopSecond func()
}

// StartEtcdPair runs a cluster of two members. It ends with the test.
func StartEtcdPair(t testing.TB) *EtcdPair {
	t.Helper()
	for range 10 {
		pair, err := tryEtcdPair(t)
		if err == nil {
			return pair
		}
		// Another process may have got a port that was free a moment ago.
		if !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			t.Fatal(err)
		}
	}
	t.Fatal("no ports are free")
	return nil
}

func tryEtcdPair(t testing.TB) (*EtcdPair, error) {
	t.Helper()
	client, peers := freeURL(t), []url.URL{freeURL(t), freeURL(t)}
	pair := &EtcdPair{URL: client.String()}
	for i, peer := range peers {
		config := embed.NewConfig()
		config.Name, config.Dir, config.LogLevel = fmt.Sprintf("m%d", i), t.TempDir(), "fatal"
		config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		config.InitialCluster = fmt.Sprintf("m0=%s,m1=%s", &peers[0], &peers[1])
		config.ListenClientUrls = nil
		if i == 0 {
			config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		}
		member, err := embed.StartEtcd(config)
		if err != nil {
			return nil, err
		}
		stop := sync.OnceFunc(member.Close)
		t.Cleanup(stop)
		if i == 0 {
			pair.first = member
		} else {
			pair.stopSecond = stop
		}
	}
	waittest.Until(t, "the members have a leader", func() bool { return pair.first.Server.Leader() != 0 })
	waittest.Receive(t, "the first member is ready", pair.first.Server.ReadyNotify())
	return pair, nil
}

// LoseLeader stops the second member, and returns when the first member has no leader. The first
// member still listens, but can neither read nor write: half of the members are no majority.
func (p *EtcdPair) LoseLeader(t testing.TB) {
	t.Helper()
	p.stopSecond()
	waittest.Until(t, "the first member has no leader", func() bool { return p.first.Server.Leader() == 0 })
}

// freeURL returns a URL on the loopback interface, with a port that was free a moment ago.
func freeURL(t testing.TB) url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return url.URL{Scheme: "http", Host: listener.Addr().String()}
}
