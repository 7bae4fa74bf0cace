package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/watchcheck"
	"holdfast.dev/holdfast/internal/yamltest"
)

// markedName is the name of the object that the last write of a test marks.
const markedName = "object-0"

const (
	streamObjects = 5
	// streamPause is the pause between two writes for the streams, so that they do not disturb the other writes of a test.
	streamPause = 30 * time.Millisecond
)

const streamDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: marks.streams.holdfast.dev}
spec:
  group: streams.holdfast.dev
  scope: Namespaced
  names: {plural: marks, kind: Mark}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {value: {type: string}}}}}}
`

// streamWriter changes, replaces and deletes objects at random. It does not care about errors: the history of etcd tells what was stored.
type streamWriter struct {
	set    *streams
	random *rand.Rand
	number int
}

// run writes until ctx ends.
func (w *streamWriter) run(ctx context.Context, t *testing.T) {
	definition := yamltest.Map(t, streamDefinition)
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": streamNamespace}}
	for prepared := false; ctx.Err() == nil; time.Sleep(streamPause) {
		_, c := w.set.server()
		if prepared {
			w.write(ctx, c)
			continue
		}
		first := c.create(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
		second := c.create(ctx, "/api/v1/namespaces", namespace)
		prepared = exists(first) && exists(second)
	}
}

// exists reports whether an answer to a create says that the object exists.
func exists(a answer) bool { return a.outcome == acknowledged || a.code == http.StatusConflict }

// write sends one write.
func (w *streamWriter) write(ctx context.Context, c *client) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout())
	defer cancel()
	k := streamKinds[w.random.IntN(len(streamKinds))]
	name := "object-" + strconv.Itoa(w.random.IntN(streamObjects))
	item := k.path(streamNamespace) + "/" + name
	state := []string{"on", "off"}[w.random.IntN(2)]
	w.number++
	switch w.random.IntN(8) {
	case 0, 1:
		c.create(ctx, k.path(streamNamespace), k.object(name, state, w.number))
	case 2:
		c.delete(ctx, item)
	case 3, 4:
		if old := c.get(ctx, item); old.outcome == acknowledged {
			object := k.object(name, state, w.number)
			metadata := object["metadata"].(map[string]any)
			for _, field := range []string{"uid", "resourceVersion"} {
				metadata[field], _, _ = unstructured.NestedString(old.object, "metadata", field)
			}
			c.update(ctx, item+"?holdfast=replace", object)
		}
	default:
		c.patch(ctx, item, k.change(state, w.number))
	}
}

// object returns a new object.
func (k *streamKind) object(name, state string, value int) map[string]any {
	object := k.change(state, value)
	object["apiVersion"], object["kind"] = k.apiVersion(), k.name
	object["metadata"].(map[string]any)["name"] = name
	return object
}

// change returns a merge patch that sets the label and the value.
func (k *streamKind) change(state string, value int) map[string]any {
	patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{"state": state}}}
	_ = unstructured.SetNestedField(patch, strconv.Itoa(value), k.value...)
	return patch
}

// mark writes an object of each kind that all streams show, and returns the revisions.
func (w *streamWriter) mark(ctx context.Context, t *testing.T) map[*streamKind]uint64 {
	t.Helper()
	marks := map[*streamKind]uint64{}
	for _, k := range streamKinds {
		waittest.Until(t, "the server stores the last "+k.name+" of the streams", func() error {
			server, c := w.set.server()
			w.number++
			a := c.create(ctx, k.path(streamNamespace), k.object(markedName, "on", w.number))
			if a.code == http.StatusConflict {
				a = c.patch(ctx, k.path(streamNamespace)+"/"+markedName, k.change("on", w.number))
			}
			if a.code == http.StatusUnauthorized {
				w.set.renew(server)
			}
			if a.outcome != acknowledged {
				return errors.Join(fmt.Errorf("code %d", a.code), a.err)
			}
			marks[k] = watchcheck.RevisionOf(a.object)
			return nil
		})
	}
	return marks
}
