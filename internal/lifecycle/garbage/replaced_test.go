package garbage_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/lifecycle/garbage"
	"holdfast.dev/holdfast/internal/replacement"
	"holdfast.dev/holdfast/internal/waittest"
)

// records are the records of replaced objects, in memory.
type records struct {
	mu    sync.Mutex
	all   map[types.UID]replacement.Record
	reads map[types.UID]int
}

func (r *records) Find(_ context.Context, old types.UID) (*replacement.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads[old]++
	record, ok := r.all[old]
	if !ok {
		return nil, nil
	}
	return &record, nil
}

func (r *records) List(context.Context) ([]replacement.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.all)), nil
}

func (r *records) Remove(_ context.Context, old types.UID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, old)
	return nil
}

// left returns the UIDs with records.
func (r *records) left() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for uid := range r.all {
		names = append(names, string(uid))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// The collector starts after objects were replaced: it finishes what their records say, deletes the dependents of owners without a record, and
// removes old records that nothing needs any more.
func TestRecordsFromBeforeTheStart(t *testing.T) {
	t.Parallel()
	c := startWithoutControllers(t)
	tr := newTree(t, c, "shop")
	tr.create(t, "new")
	heir := tr.ref(t, "new")
	of := func(uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "new", UID: uid}}
	}
	for name, uid := range map[string]types.UID{"adopted": "first", "orphaned": "second", "lost": "third", "lost-too": "third", "held": "fourth"} {
		tr.createWith(t, metav1.ObjectMeta{Name: name, OwnerReferences: of(uid)})
	}
	long := time.Now().Add(-time.Hour)
	known := &records{reads: map[types.UID]int{}, all: map[types.UID]replacement.Record{
		"first":  {Kind: "ConfigMap", Namespace: "shop", Name: "new", Old: "first", New: heir.UID, Time: long},
		"second": {Kind: "ConfigMap", Namespace: "shop", Name: "new", Old: "second", Time: long},
		"fourth": {Kind: "ConfigMap", Namespace: "shop", Name: "new", Old: "fourth", New: heir.UID, Time: long},
		"unused": {Kind: "ConfigMap", Namespace: "shop", Name: "other", Old: "unused", Time: long},
		"recent": {Kind: "ConfigMap", Namespace: "shop", Name: "other", Old: "recent", Time: time.Now().Add(time.Hour)},
	}}
	// The server does not let the collector change one of them for a while.
	var open atomic.Bool
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/held") && !open.Load() {
				return nil, http.ErrHandlerTimeout
			}
			return next.RoundTrip(req)
		})
	})
	collectWith(t, config, garbage.Config{Replaced: known, KeepRecords: 50 * time.Millisecond})
	tr.wait(t, "adopted<new held<new new orphaned")
	waittest.Until(t, "the records without dependents are removed", func() bool { return known.left() == "fourth recent" })
	held, err := tr.configMaps().Get(t.Context(), "held", metav1.GetOptions{})
	if err != nil || held.OwnerReferences[0].UID != "fourth" {
		t.Fatalf("%v, %v", held, err)
	}
	known.mu.Lock()
	if reads := known.reads["third"]; reads != 1 {
		t.Errorf("the collector has read the record of one owner %d times", reads)
	}
	known.mu.Unlock()
	open.Store(true)
	waittest.Until(t, "the last record is removed", func() bool { return known.left() == "recent" })
	for _, name := range []string{"adopted", "held"} {
		if got, err := tr.configMaps().Get(t.Context(), name, metav1.GetOptions{}); err != nil || got.OwnerReferences[0].UID != heir.UID {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
