package faults_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
)

const (
	historyPath = "/api/v1/namespaces/history/configmaps"
	keyPrefix   = "key-"
	clients     = 5
	// never is the end of an operation without an answer: it may take effect at any time.
	never = math.MaxInt64
)

// history records the operations of concurrent clients on the same objects.
type history struct {
	begin      time.Time
	mutex      sync.Mutex
	operations []porcupine.Operation
	// acknowledged counts the acknowledged writes.
	acknowledged int
	// errors counts the answers that say neither yes nor no, by their text.
	errors map[string]int
	// unclear are the texts of those errors that do not tell a client to try again, refused counts the
	// others, and failed is the time of the last error.
	unclear []string
	refused int
	failed  time.Time
	// pause is how long a client waits between two operations.
	pause time.Duration
}

func newHistory(t *testing.T, c *client) *history {
	t.Helper()
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "history"}}
	waittest.Until(t, "the server creates the namespace", func() error { return c.create(t.Context(), "/api/v1/namespaces", namespace).err })
	return &history{begin: time.Now(), errors: map[string]int{}}
}

// run sends random operations to the servers until ctx ends. Each client has one server at a time, and
// takes another one when it gets no answer.
func (h *history) run(ctx context.Context, s seed, servers ...*server) (wait func()) {
	var running sync.WaitGroup
	for id := range clients {
		random := s.random(fmt.Sprintf("client %d", id))
		running.Go(func() {
			known := [keys]uint64{}
			for at := id; ctx.Err() == nil; time.Sleep(h.pause) {
				if !h.operate(ctx, id, servers[at%len(servers)].client.Load(), random, &known) {
					at++
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	return running.Wait
}

// operate sends one operation, and reports whether the server answered. known are the versions that
// the client has seen.
func (h *history) operate(ctx context.Context, id int, c *client, random *rand.Rand, known *[keys]uint64) bool {
	verbs := []string{"create", "create", "update", "update", "update", "patch", "patch", "delete", "get", "get", "list"}
	o := operation{verb: verbs[random.IntN(len(verbs))], key: random.IntN(keys)}
	switch o.verb {
	case "create", "update", "patch":
		o.value = fmt.Sprintf("%d-%d", id, random.Uint32())
	}
	if o.version = known[o.key]; o.verb == "update" && o.version == 0 {
		o.verb, o.value = "get", ""
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout())
	defer cancel()
	from := time.Since(h.begin).Nanoseconds()
	a := o.send(ctx, c)
	r := o.result(a)
	till := time.Since(h.begin).Nanoseconds()
	switch {
	case o.verb == "get":
		known[o.key] = r.cells[o.key].version
	case o.verb != "list" && o.verb != "delete" && r.outcome == acknowledged:
		known[o.key] = r.version
	}
	h.add(porcupine.Operation{ClientId: id, Input: o, Output: r, Call: from, Return: till}, a)
	return a.code != 0
}

// requestTimeout is how long a client waits for an answer.
func requestTimeout() time.Duration { return either(2*time.Second, 5*time.Second) }

// send sends the request of an operation.
func (o operation) send(ctx context.Context, c *client) answer {
	name := keyPrefix + strconv.Itoa(o.key)
	metadata := map[string]any{"name": name}
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"value": o.value}}
	switch o.verb {
	case "create":
		return c.create(ctx, historyPath, object)
	case "update":
		metadata["resourceVersion"] = strconv.FormatUint(o.version, 10)
		return c.update(ctx, historyPath+"/"+name, object)
	case "patch":
		return c.patch(ctx, historyPath+"/"+name, map[string]any{"data": object["data"]})
	case "delete":
		return c.delete(ctx, historyPath+"/"+name)
	case "get":
		return c.get(ctx, historyPath+"/"+name)
	}
	return c.get(ctx, historyPath)
}

// result returns what the model compares of an answer.
func (o operation) result(a answer) result {
	r := result{outcome: a.outcome, code: a.code}
	if a.outcome != acknowledged {
		return r
	}
	r.code = 0
	read := func(object map[string]any) cell {
		value, _, _ := unstructured.NestedString(object, "data", "value")
		return cell{value: value, version: versionOf(object)}
	}
	switch o.verb {
	case "get":
		r.cells[o.key] = read(a.object)
	case "list":
		r.version = a.version()
		for _, object := range items(a.object) {
			if number, ours := strings.CutPrefix(nameOf(object), keyPrefix); ours {
				key, _ := strconv.Atoi(number)
				r.cells[key] = read(object)
			}
		}
	case "create", "update", "patch":
		r.version = a.version()
	}
	return r
}

// add records an operation. It leaves out reads without an answer, and writes that were refused for a
// reason that says nothing about the objects.
func (h *history) add(o porcupine.Operation, a answer) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if a.outcome == open || a.outcome == refused && a.code != http.StatusNotFound && a.code != http.StatusConflict {
		h.failure(a)
	}
	read := o.Input.(operation).verb == "get" || o.Input.(operation).verb == "list"
	switch {
	case a.outcome == acknowledged:
		if !read {
			h.acknowledged++
		}
	case a.outcome == open && !read:
		o.Return = never
	case a.code == http.StatusNotFound, a.code == http.StatusConflict:
	default:
		return
	}
	h.operations = append(h.operations, o)
}

// settle ends the operations without an answer: a dead process does not store them later.
func (h *history) settle() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	now := time.Since(h.begin).Nanoseconds()
	for i := range h.operations {
		h.operations[i].Return = min(h.operations[i].Return, now)
	}
}

// progress waits until the servers have acknowledged more writes.
func (h *history) progress(t *testing.T, writes int) {
	t.Helper()
	h.await(t, &h.acknowledged, writes)
}

// refusals waits until more operations have failed with an error that tells the client to try again.
func (h *history) refusals(t *testing.T, errors int) {
	t.Helper()
	h.await(t, &h.refused, errors)
}

// await waits until a counter has increased.
func (h *history) await(t *testing.T, counter *int, increase int) {
	t.Helper()
	count := func() int {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		return *counter
	}
	target := count() + increase
	waittest.Until(t, fmt.Sprintf("%d more operations", increase), func() error {
		if n := count(); n < target {
			return fmt.Errorf("%w: %d of %d", errTooFew, n, target)
		}
		return nil
	})
}
