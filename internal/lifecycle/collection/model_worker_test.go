package collection_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/series"
	"holdfast.dev/holdfast/internal/yamltest"
)

// worker does random work on one of the servers.
type worker struct {
	*model
	id  int
	rng *rand.Rand
	// workloads are the names of its workloads.
	workloads map[string]schema.GroupVersionResource
	next      int
}

// in returns the client for a resource, at one of the servers.
func (w *worker) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return w.server(w.id % 2).Dynamic.Resource(resource).Namespace("model")
}

// run does some steps, and calls a function at half of them.
func (w *worker) run(ctx context.Context, steps int, half func()) {
	for i := range steps {
		if i == steps/2 {
			half()
		}
		err := w.step(ctx)
		if err != nil && !isExpected(err) {
			w.t.Errorf("worker %d: %v", w.id, err)
			return
		}
		time.Sleep(time.Duration(w.rng.IntN(40)) * time.Millisecond)
	}
}

// isExpected reports whether a client expects an error: another client was first, the server was killed, or etcd did not confirm a write in time, as
// on a busy machine. The write may be stored then.
func isExpected(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // the server was killed
	}
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// step does one thing. It fails on an error that a client would not expect.
func (w *worker) step(ctx context.Context) error {
	switch n := w.rng.IntN(10); {
	case n < 3:
		return w.publish(ctx)
	case n < 6:
		return w.start(ctx)
	case n < 9:
		return w.change(ctx)
	default:
		return w.stop(ctx)
	}
}

// publish creates a version of configuration: a ConfigMap and a Secret with the same name.
func (w *worker) publish(ctx context.Context) error {
	w.next++
	of := fmt.Sprintf("s%d", w.rng.IntN(3))
	name := fmt.Sprintf("%s-%d-%d", of, w.id, w.next)
	for kind, resource := range map[string]schema.GroupVersionResource{"ConfigMap": configMaps, "Secret": secrets} {
		object := yamltest.Object(w.t, fmt.Sprintf("{apiVersion: v1, kind: %s, immutable: true, metadata: {name: %s, labels: {%s: %s}}}", kind, name, series.Label, of))
		if _, err := w.in(resource).Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.created = append(w.created, name)
	return nil
}

// version returns a version that was published, often an old one, which may be gone.
func (w *worker) version() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.created) == 0 {
		return "none"
	}
	if w.rng.IntN(2) == 0 {
		return w.created[len(w.created)-1-w.rng.IntN(min(5, len(w.created)))]
	}
	return w.created[w.rng.IntN(len(w.created))]
}

func (w *worker) object(resource schema.GroupVersionResource, own string) *unstructured.Unstructured {
	text := strings.NewReplacer("OWN", own, "NAME", w.version(), "COUNT", strconv.Itoa(w.rng.IntN(3))).Replace(forms[resource])
	return yamltest.Object(w.t, text)
}

// start creates a workload.
func (w *worker) start(ctx context.Context) error {
	w.next++
	own := fmt.Sprintf("w-%d-%d", w.id, w.next)
	all := []schema.GroupVersionResource{pods, deployments, replicaSets, boats, ships}
	resource := all[w.rng.IntN(len(all))]
	_, err := w.in(resource).Create(ctx, w.object(resource, own), metav1.CreateOptions{})
	if err == nil {
		w.workloads[own] = resource
	}
	return err
}

// pick returns a workload, empty if there is none.
func (w *worker) pick() string {
	names := slices.Sorted(maps.Keys(w.workloads))
	if len(names) == 0 {
		return ""
	}
	return names[w.rng.IntN(len(names))]
}

// change rolls a workload to another version, forward or back, and scales it, maybe to zero. A pod cannot change.
func (w *worker) change(ctx context.Context) error {
	own := w.pick()
	if own == "" || w.workloads[own] == pods {
		return nil
	}
	resource := w.workloads[own]
	in := w.in(resource)
	current, err := in.Get(ctx, own, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changed := w.object(resource, own)
	changed.SetResourceVersion(current.GetResourceVersion())
	_, err = in.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// stop deletes a workload.
func (w *worker) stop(ctx context.Context) error {
	own := w.pick()
	if own == "" {
		return nil
	}
	defer delete(w.workloads, own)
	return w.in(w.workloads[own]).Delete(ctx, own, metav1.DeleteOptions{})
}
