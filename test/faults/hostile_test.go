package faults_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	hostilePath = "/api/v1/namespaces/default/configmaps"
	// memoryLimit is the documented bound of the memory under the attacks, in MB.
	memoryLimit = 1500
)

// Hostile clients attack a server, one attack after the other. Another user meanwhile gets an answer to
// every request, and the memory of the server stays below its bound.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	server := newServer(filepath.Join(t.TempDir(), "data"))
	server.start(t)
	grantEverything(t, server.client.Load())
	hostile, other := userConfig(t, server, "mallory"), userConfig(t, server, "alice")
	waitForRights(t, other)
	calm := measure(t, other, "calm", func(context.Context) {})
	for _, attack := range []struct {
		name string
		run  func(*attacker, context.Context)
	}{
		{"large objects", (*attacker).largeObjects},
		{"deep and wide bodies", (*attacker).bombs},
		{"idle connections", (*attacker).idleConnections},
		{"requests cancelled at once", (*attacker).rapidResets},
		{"watches opened and closed", (*attacker).watchStorm},
		{"watches never read", (*attacker).silentWatches},
	} {
		before := residentMB(t, server)
		p99 := measure(t, other, attack.name, func(ctx context.Context) { attack.run(&attacker{t: t, config: hostile}, ctx) })
		after := residentMB(t, server)
		t.Logf("%s: p99 of the other user %s, undisturbed %s; memory %d MB, before %d MB", attack.name, p99, calm, after, before)
		if after > memoryLimit {
			t.Errorf("%s: the server has %d MB, the bound is %d MB", attack.name, after, memoryLimit)
		}
	}
}

// grantEverything gives all rights to the two users, without the priority of an administrator.
func grantEverything(t *testing.T, c *client) {
	t.Helper()
	binding, err := decode(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: users},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]}`)
	if err != nil {
		t.Fatal(err)
	}
	path := "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	eventually(t, func() error { return c.create(t.Context(), path, binding).err })
}

// waitForRights waits until the server knows the role binding of a user.
func waitForRights(t *testing.T, config *rest.Config) {
	t.Helper()
	c, err := clientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return c.get(t.Context(), hostilePath).err })
}

// userConfig returns the client config of a user.
func userConfig(t *testing.T, s *server, user string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.dataDir+"/admin.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// measure lets a user create, read and delete objects while an attack runs, and returns the 99th
// percentile of the durations. A request that fails fails the test.
func measure(t *testing.T, config *rest.Config, name string, attack func(context.Context)) time.Duration {
	t.Helper()
	c, err := clientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), either(time.Second, 20*time.Second))
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { attack(ctx) })
	var durations []time.Duration
	timed := func(what string, a func() answer) {
		begin := time.Now()
		if got := a(); got.err != nil && got.code != http.StatusTooManyRequests {
			t.Errorf("%s: %s of another user: %v", name, what, got.err)
		}
		durations = append(durations, time.Since(begin))
	}
	for i := 0; ctx.Err() == nil; i++ {
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("other-%d", i)}}
		item := hostilePath + "/" + nameOf(object)
		timed("create", func() answer { return c.create(t.Context(), hostilePath, object) })
		timed("get", func() answer { return c.get(t.Context(), item) })
		timed("delete", func() answer { return c.delete(t.Context(), item) })
	}
	running.Wait()
	slices.Sort(durations)
	return durations[len(durations)*99/100].Round(100 * time.Microsecond)
}

// attacker is a hostile client.
type attacker struct {
	t      *testing.T
	config *rest.Config
}

// repeat runs a function in several goroutines until ctx ends.
func (a *attacker) repeat(ctx context.Context, goroutines int, run func(c *client, i int)) {
	var running sync.WaitGroup
	for g := range goroutines {
		c, err := clientFor(a.config)
		if err != nil {
			a.t.Error(err)
			return
		}
		running.Go(func() {
			for i := g; ctx.Err() == nil; i += goroutines {
				run(c, i)
			}
		})
	}
	running.Wait()
}

// largeObjects creates and deletes objects of nearly the size that etcd accepts.
func (a *attacker) largeObjects(ctx context.Context) {
	large := strings.Repeat("x", 1<<20-1<<10)
	a.repeat(ctx, 8, func(c *client, i int) {
		name := fmt.Sprintf("large-%d", i)
		c.create(ctx, hostilePath, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"large": large},
		})
		c.delete(context.WithoutCancel(ctx), hostilePath+"/"+name)
	})
}

// bombs sends bodies that are small, and large when they are decoded or applied.
func (a *attacker) bombs(ctx context.Context) {
	laughs := "a0: &a0 [x]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i)
	}
	var copies []map[string]string
	for i := range 60 {
		copies = append(copies, map[string]string{"op": "copy", "from": "/metadata", "path": fmt.Sprintf("/metadata/annotations/a%d", i)})
	}
	patch, _ := json.Marshal(copies)
	wide := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"wide"},"data":{` + strings.Repeat(`"a":"",`, 300_000) + `"a":""}}`
	bodies := []struct{ verb, path, kind, body string }{
		{"POST", hostilePath, plainJSON, strings.Repeat("[", 1_000_000)},
		{"POST", hostilePath, plainJSON, strings.Repeat(`{"a":`, 300_000)},
		{"POST", hostilePath, plainJSON, wide},
		{"POST", hostilePath, "application/yaml", laughs},
		{"POST", hostilePath, "application/yaml", strings.Repeat("- ", 500_000)},
		{"PATCH", hostilePath + "/kube-root-ca.crt", "application/json-patch+json", string(patch)},
	}
	a.repeat(ctx, 8, func(c *client, i int) {
		b := bodies[i%len(bodies)]
		_ = c.rest.Verb(b.verb).RequestURI(b.path).MaxRetries(0).SetHeader("Content-Type", b.kind).Body([]byte(b.body)).Do(ctx).Error()
	})
}

// idleConnections opens connections and sends nothing.
func (a *attacker) idleConnections(ctx context.Context) {
	address := strings.TrimPrefix(a.config.Host, "https://")
	for range either(500, 10_000) {
		// The server sees the address and the certificate of the connection, and the client checks nothing.
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			break
		}
		defer func() { _ = conn.Close() }()
	}
	<-ctx.Done()
}

// rapidResets sends requests and cancels each at once, as a reset of its HTTP/2 stream.
func (a *attacker) rapidResets(ctx context.Context) {
	a.repeat(ctx, 16, func(c *client, _ int) {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		c.get(short, "/api/v1/configmaps")
	})
}

// watchStorm opens watches and closes them.
func (a *attacker) watchStorm(ctx context.Context) {
	a.repeat(ctx, 16, func(c *client, _ int) {
		stream, err := c.rest.Get().RequestURI("/api/v1/configmaps?watch=true").MaxRetries(0).Stream(ctx)
		if err == nil {
			_ = stream.Close()
		}
	})
}

// silentWatches opens watches of all objects and does not read them, while it writes objects.
func (a *attacker) silentWatches(ctx context.Context) {
	c, err := clientFor(a.config)
	if err != nil {
		a.t.Error(err)
		return
	}
	for range either(100, 1000) {
		stream, err := c.rest.Get().RequestURI("/api/v1/configmaps?watch=true").MaxRetries(0).Stream(ctx)
		if err != nil {
			break
		}
		defer func() { _ = stream.Close() }()
	}
	data := map[string]any{"text": strings.Repeat("x", 10<<10)}
	a.repeat(ctx, 4, func(c *client, i int) {
		c.patch(ctx, hostilePath+"/kube-root-ca.crt", map[string]any{"data": data, "metadata": map[string]any{
			"annotations": map[string]any{"number": strconv.Itoa(i)},
		}})
	})
}

// residentMB returns the resident memory of a server in MB.
func residentMB(t *testing.T, s *server) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes >> 10
}
