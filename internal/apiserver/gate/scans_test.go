package gate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/gate"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

// heldObjects has no objects, and its scans end when release is closed.
type heldObjects struct {
	running *atomic.Int32
	release chan struct{}
}

// Scan implements gate.Objects.
func (h heldObjects) Scan(context.Context, schema.GroupResource, int64, func(storage.Stored) error) (int64, error) {
	h.running.Add(1)
	defer h.running.Add(-1)
	<-h.release
	return 1, nil
}

// TestScansAtOnce checks that a server holds the pages of four scans of clients at most, and that writes of the server itself do not wait for
// them.
func TestScansAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := heldObjects{running: &atomic.Int32{}, release: make(chan struct{})}
		g := gate.New(gate.Config{Policy: definition.RefuseLoss, Timeout: time.Minute, Objects: held})
		crd := yamltest.Decode[definition.CustomResourceDefinition](t, define("", "a: {type: string}", "b: {type: string}"))
		errs := make(chan error, 7)
		for range 6 {
			go func() { errs <- g.Review(false).Create(t.Context(), crd.DeepCopy()) }()
		}
		synctest.Wait()
		if got := held.running.Load(); got != 4 {
			t.Errorf("%d scans at the same time", got)
		}
		old := crd.DeepCopy()
		old.Status.StoredVersions, crd.Status.StoredVersions = []string{"v1", "v2"}, []string{"v1"}
		go func() { errs <- g.StrictReview().UpdateStatus(t.Context(), old, crd) }()
		synctest.Wait()
		if got := held.running.Load(); got != 5 {
			t.Errorf("%d scans with that of the server", got)
		}
		close(held.release)
		for range 7 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}
