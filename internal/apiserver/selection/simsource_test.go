package selection_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/selection"
)

// simWatch is a watch of etcd. queue are the events that have not arrived yet.
type simWatch struct {
	queue   []watch.Event
	result  chan watch.Event
	relayed watch.Interface
	initial bool
	failed  bool
	stopped bool
}

// ResultChan implements watch.Interface.
func (w *simWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *simWatch) Stop() { w.stopped = true }

// Versioner implements storage.Interface.
func (r *simReader) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

// GetList implements storage.Interface. It answers with a page of the list that was requested before.
func (r *simReader) GetList(_ context.Context, _ string, options storage.ListOptions, list runtime.Object) error {
	half, at := len(r.listed)/2, &metav1.ListMeta{ResourceVersion: strconv.FormatUint(r.listedAt, 10)}
	items := r.listed[half:]
	if options.Predicate.Continue == "" {
		items, at.Continue = r.listed[:half], "more"
	}
	if err := meta.SetList(list, items); err != nil {
		return err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(at.ResourceVersion)
	accessor.SetContinue(at.Continue)
	return nil
}

// Watch implements storage.Interface.
func (r *simReader) Watch(_ context.Context, _ string, options storage.ListOptions) (watch.Interface, error) {
	e, w := r.sim.etcd, &simWatch{result: make(chan watch.Event)}
	log := e.logs[r.resource]
	if options.SendInitialEvents != nil {
		w.initial = true
		for _, obj := range sorted(e.now(r.resource)) {
			w.queue = append(w.queue, watch.Event{Type: watch.Added, Object: obj})
		}
		w.queue = append(w.queue, r.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	} else {
		from, err := strconv.ParseUint(options.ResourceVersion, 10, 64)
		if err != nil {
			return nil, err
		}
		if from < e.compacted {
			return nil, apierrors.NewResourceExpired("compacted")
		}
		for _, write := range log.writes[log.after(from):] {
			w.queue = append(w.queue, watch.Event{Type: write.event, Object: write.object})
		}
	}
	log.watches = append(log.watches, w)
	r.current = w
	return w, nil
}

// RequestWatchProgress implements storage.Interface. etcd answers behind the events that it has sent, at once or later.
func (r *simReader) RequestWatchProgress(ctx context.Context) error {
	if r.current == nil || ctx.Err() != nil {
		return errors.New("no watch is open")
	}
	r.current.queue = append(r.current.queue, r.bookmark(nil))
	if r.sim.random == nil || r.sim.random.IntN(3) == 0 {
		r.deliver(r.current, len(r.current.queue))
	}
	return nil
}

// bookmark says that the watch has sent all events up to now.
func (r *simReader) bookmark(annotations map[string]string) watch.Event {
	var obj selection.Object = &corev1.Pod{}
	if kind, ok := simKinds[r.resource]; ok {
		obj = kind.New()
	}
	obj.SetResourceVersion(strconv.FormatUint(r.sim.etcd.revision, 10))
	obj.SetAnnotations(annotations)
	return watch.Event{Type: watch.Bookmark, Object: obj}
}

// sorted returns the objects of a state in the order of their keys.
func sorted(state simState) []selection.Object {
	all := make([]selection.Object, 0, len(state))
	for _, obj := range state {
		all = append(all, obj)
	}
	slices.SortFunc(all, func(a, b selection.Object) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return all
}
