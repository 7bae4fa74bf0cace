package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// cluster is an etcd cluster whose members are processes. The traffic between the members goes
// through links, which can be cut.
type cluster struct {
	members []*member
	links   *links
}

// member is a member of an etcd cluster.
type member struct {
	*process
	// program is the file that is started, and env are more environment variables.
	program string
	env     []string
	flags   []string
	// url is where clients connect.
	url string
	id  uint64
}

// startCluster starts a cluster and waits until it answers. The members have more flags.
func startCluster(t *testing.T, size int, flags ...string) *cluster {
	t.Helper()
	return startProgram(t, filepath.Join(programs, "etcd"), size, flags...)
}

// startProgram is startCluster with another program.
func startProgram(t *testing.T, program string, size int, flags ...string) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{links: newLinks(t, size)}
	var all []string
	for i, url := range c.links.urls {
		all = append(all, fmt.Sprintf("m%d=%s", i, url))
	}
	for i := range size {
		name, peer, url := fmt.Sprintf("m%d", i), c.links.peers[i], "http://"+freeAddress(t)
		m := &member{program: program, url: url, flags: slices.Concat([]string{
			"--name", name, "--data-dir", filepath.Join(dir, name), "--log-level", "fatal",
			"--initial-cluster", strings.Join(all, ","), "--heartbeat-interval=50", "--election-timeout=500",
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", c.links.urls[i],
			"--listen-client-urls", url, "--advertise-client-urls", url,
		}, flags)}
		m.start(t)
		c.members = append(c.members, m)
	}
	c.leader(t)
	return c
}

func (m *member) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command(m.program, m.flags...)
	cmd.Env = append(os.Environ(), m.env...)
	p, err := launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	// A member that was started again runs until the end of the test, so that its history can be read.
	if m.process == nil {
		t.Cleanup(func() { m.kill() })
	}
	m.process = p
}

// servers starts API servers on the cluster.
func (c *cluster) servers(t *testing.T, count int) []*server {
	t.Helper()
	dir := t.TempDir()
	servers, shared := make([]*server, count), newStreams(c.urls()...)
	for i := range servers {
		servers[i] = newServer(filepath.Join(dir, fmt.Sprintf("data-%d", i)), "--etcd-servers", strings.Join(c.urls(), ","))
		servers[i].streams = shared
		servers[i].start(t)
	}
	return servers
}

// leader waits until all members agree on a leader, and returns its index.
func (c *cluster) leader(t *testing.T) int {
	t.Helper()
	leader := -1
	waittest.Until(t, "all members of etcd agree on a leader", func() error {
		ids := make([]uint64, len(c.members))
		for i, m := range c.members {
			status, err := ask(t.Context(), m.url, func(ctx context.Context, client *clientv3.Client) (*clientv3.StatusResponse, error) {
				return client.Status(ctx, m.url)
			})
			if err != nil {
				return err
			}
			m.id = status.Header.MemberId
			c.links.setID(i, m.id)
			if ids[i] = status.Leader; m.id == status.Leader {
				leader = i
			}
		}
		if slices.Min(ids) != slices.Max(ids) || ids[0] == 0 {
			return errors.New("the members have no common leader")
		}
		return nil
	})
	return leader
}

// moveLeader makes another member the leader.
func (c *cluster) moveLeader(t *testing.T, from, to int) {
	t.Helper()
	waittest.Until(t, "another member is the leader", func() error {
		_, err := ask(t.Context(), c.members[from].url, func(ctx context.Context, client *clientv3.Client) (*clientv3.MoveLeaderResponse, error) {
			return client.MoveLeader(ctx, c.members[to].id)
		})
		// On a busy machine, another member may have become the leader meanwhile, or the old one gave up waiting for the new one.
		if errors.Is(err, rpctypes.ErrNotLeader) {
			return nil
		}
		return err
	})
}

// urls returns the URLs of all members for clients.
func (c *cluster) urls() []string {
	var urls []string
	for _, m := range c.members {
		urls = append(urls, m.url)
	}
	return urls
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

// freeAddress returns a loopback address that is free, for a process that a test kills and starts again.
func freeAddress(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(servertest.FreePort(t)))
}
