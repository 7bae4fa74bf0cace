package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// cluster is an etcd cluster whose members are processes.
type cluster struct{ members []*member }

// member is a member of an etcd cluster.
type member struct {
	*process
	flags []string
	// url is where clients connect.
	url string
}

// startCluster starts a cluster and waits until it answers.
func startCluster(t *testing.T, size int) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{}
	var peers, all []string
	for i := range size {
		peers = append(peers, "http://"+freeAddress(t))
		all = append(all, fmt.Sprintf("m%d=%s", i, peers[i]))
	}
	for i, peer := range peers {
		name, url := fmt.Sprintf("m%d", i), "http://"+freeAddress(t)
		m := &member{url: url, flags: []string{
			"--name", name, "--data-dir", filepath.Join(dir, name), "--log-level", "fatal",
			"--initial-cluster", strings.Join(all, ","), "--heartbeat-interval=50", "--election-timeout=500",
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--listen-client-urls", url, "--advertise-client-urls", url,
		}}
		m.start(t)
		c.members = append(c.members, m)
	}
	c.wait(t)
	return c
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.process = start(t, "etcd", m.flags...)
}

// servers starts API servers on the cluster.
func (c *cluster) servers(t *testing.T, count int) []*server {
	t.Helper()
	var urls []string
	for _, m := range c.members {
		urls = append(urls, m.url)
	}
	dir := t.TempDir()
	servers := make([]*server, count)
	for i := range servers {
		servers[i] = newServer(filepath.Join(dir, fmt.Sprintf("data-%d", i)), "--etcd-servers", strings.Join(urls, ","))
		servers[i].start(t)
	}
	return servers
}

// wait waits until all members agree on a leader.
func (c *cluster) wait(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		ids := make([]uint64, len(c.members))
		for i, m := range c.members {
			status, err := ask(t.Context(), m.url, func(ctx context.Context, client *clientv3.Client) (*clientv3.StatusResponse, error) {
				return client.Status(ctx, m.url)
			})
			if err != nil {
				return err
			}
			ids[i] = status.Leader
		}
		if slices.Min(ids) != slices.Max(ids) || ids[0] == 0 {
			return errors.New("the members have no common leader")
		}
		return nil
	})
}

// ask sends a request to one member.
func ask[T any](ctx context.Context, url string, request func(context.Context, *clientv3.Client) (T, error)) (T, error) {
	var none T
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
	if err != nil {
		return none, err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return request(ctx, client)
}

// freeAddress returns a loopback address that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
