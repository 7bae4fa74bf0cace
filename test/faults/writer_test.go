package faults_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// writer writes objects of one kind, which no other writer writes. It uses a name once.
type writer struct {
	*kind
	ledger *ledger
	random *rand.Rand
	prefix string
	number int
}

// newWriters returns the writers of all kinds.
func newWriters(s seed, l *ledger) []*writer {
	var writers []*writer
	for _, k := range kinds {
		for i := range k.writers {
			prefix := fmt.Sprintf("w%dn", i)
			writers = append(writers, &writer{kind: k, ledger: l, random: s.random(k.resource + prefix), prefix: prefix})
		}
	}
	return writers
}

// run writes until the server does not answer, or ctx ends.
func (w *writer) run(ctx context.Context, t *testing.T, c *client) {
	for ctx.Err() == nil {
		if a := w.write(ctx, t, c); a.outcome == open || a.code == 0 {
			return
		}
	}
}

// write sends one write to an object, which it chooses at random.
func (w *writer) write(ctx context.Context, t *testing.T, c *client) answer {
	w.number++
	value := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%d", w.prefix, w.number))
	live := w.ledger.live(w.kind, func(name string) bool { return strings.HasPrefix(name, w.prefix) })
	choice := w.random.IntN(10)
	if len(live) == 0 || choice < 3 && len(live) < 8 {
		name := fmt.Sprintf("%s%d", w.prefix, w.number)
		return w.record(t, name+w.suffix, state{exists: true, value: value}, func() answer {
			return c.create(ctx, w.path, w.newObject(name, value))
		})
	}
	name := live[w.random.IntN(len(live))]
	switch {
	case choice < 6:
		return w.compareAndSwap(ctx, t, c, name, value)
	case choice < 8:
		return w.record(t, name, state{exists: true, value: value}, func() answer {
			return c.patch(ctx, w.item(name), w.change(value))
		})
	}
	return w.record(t, name, state{}, func() answer { return c.delete(ctx, w.item(name)) })
}

// compareAndSwap reads an object and updates it at the version that it has read.
func (w *writer) compareAndSwap(ctx context.Context, t *testing.T, c *client, name, value string) answer {
	read := c.get(ctx, w.item(name))
	if read.outcome != acknowledged {
		if read.code == http.StatusNotFound {
			t.Errorf("%s %s is not there any more", w.resource, name)
		}
		// A read that fails leaves nothing open.
		return answer{outcome: refused, code: read.code, err: read.err}
	}
	_ = unstructured.SetNestedField(read.object, value, w.value...)
	return w.record(t, name, state{exists: true, value: value}, func() answer { return c.update(ctx, w.item(name), read.object) })
}

// record sends a write and records its answer. The version of an acknowledged write must be higher
// than that of every write that was acknowledged before it began.
func (w *writer) record(t *testing.T, name string, next state, send func() answer) answer {
	_, before := w.ledger.begin(w.kind, name)
	a := send()
	if a.outcome == acknowledged && next.exists && a.version() <= before {
		t.Errorf("%s %s: version %d after version %d", w.resource, name, a.version(), before)
	}
	expected := []int{http.StatusForbidden, http.StatusConflict, http.StatusTooManyRequests, 0}
	if a.outcome == refused && !slices.Contains(expected, a.code) {
		t.Errorf("%s %s: %v", w.resource, name, a.err)
	}
	w.ledger.end(w.kind, name, next, a)
	return a
}
