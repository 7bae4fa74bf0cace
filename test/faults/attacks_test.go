package faults_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

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
	a.repeat(ctx, 8, func(c *client, i int) {
		name := fmt.Sprintf("large-%d", i)
		c.create(ctx, hostilePath, largeObject(name))
		c.delete(context.WithoutCancel(ctx), hostilePath+"/"+name)
	})
}

// largeObject returns an object of nearly the size that the server accepts.
func largeObject(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
		"data": map[string]any{"large": strings.Repeat("x", 1<<20-1<<10)},
	}
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

// silentReads requests lists of large objects and does not read the answers.
func (a *attacker) silentReads(ctx context.Context) {
	c, err := clientFor(a.config)
	if err != nil {
		a.t.Error(err)
		return
	}
	for i := range 8 {
		name := fmt.Sprintf("unread-%d", i)
		c.create(ctx, hostilePath, largeObject(name))
		defer func() { c.delete(context.WithoutCancel(ctx), hostilePath+"/"+name) }()
	}
	for range either(50, 500) {
		conn, err := dial(a.config)
		if err != nil {
			break
		}
		defer func() { _ = conn.Close() }()
		list := "GET " + hostilePath + " HTTP/1.1\r\nHost: localhost\r\nImpersonate-User: " + a.config.Impersonate.UserName + "\r\n\r\n"
		if _, err := conn.Write([]byte(list)); err != nil {
			break
		}
	}
	<-ctx.Done()
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
