package collection_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

const (
	simNamespace = "shop"
	// simManager is the field manager of the controller.
	simManager = "holdfast-collector"
	// simSeries is the series of all members.
	simSeries = "s"
)

// simStore has ConfigMaps, and pods that refer to them. It keeps what it needs to judge the controller.
type simStore struct {
	mu         sync.Mutex
	revision   int
	created    int
	configMaps map[string]*corev1.ConfigMap
	// pods are the names of the ConfigMaps to which pods refer, and podRevision is when the last pod was written.
	pods        map[string]string
	podRevision int
	// memory is the Secret of the controller.
	memory *corev1.Secret
	events []simEvent
	// used is when the index learned that a pod does not refer to a name any more. The time of a reference that begins and ends before the index
	// learns of it does not count.
	used map[string]time.Time
	// decided is the value of used when the controller last decided to read an object, to which a delete belongs.
	decided map[string]time.Time
	// collected are the UIDs of the objects that the controller has deleted, by name and content.
	collected map[string]types.UID
	// began is when the controller was started, and looks when it first looked at objects while all references were known. It does not know what
	// used them before.
	began, looks time.Time
	wrong        error
}

// simEvent is a change of a ConfigMap, or of a pod.
type simEvent struct {
	revision int
	kind     watch.EventType
	object   *corev1.ConfigMap
	pod      string
	// refersTo is what the pod refers to, empty if it is deleted.
	refersTo string
}

func (e simEvent) String() string {
	if e.object != nil {
		return fmt.Sprintf("%s %s", strings.ToLower(string(e.kind)), e.object.Name)
	}
	return fmt.Sprintf("%s refers to %q", e.pod, e.refersTo)
}

func newSimStore() *simStore {
	return &simStore{
		configMaps: map[string]*corev1.ConfigMap{}, pods: map[string]string{}, used: map[string]time.Time{}, decided: map[string]time.Time{},
		collected: map[string]types.UID{},
	}
}

func identityOf(o *corev1.ConfigMap) string {
	return fmt.Sprintf("%s %x", o.Name, sha256.Sum256([]byte(o.Data["level"])))
}

// put stores a ConfigMap.
func (s *simStore) put(o *corev1.ConfigMap, kind watch.EventType) {
	s.revision++
	o.ResourceVersion = strconv.Itoa(s.revision)
	s.configMaps[o.Name] = o
	s.events = append(s.events, simEvent{revision: s.revision, kind: kind, object: o})
}

// change stores a changed copy of a ConfigMap.
func (s *simStore) change(name string, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
	o := s.configMaps[name].DeepCopy()
	change(o)
	s.put(o, watch.Modified)
	return o
}

func (s *simStore) remove(name string) {
	s.revision++
	last := s.configMaps[name].DeepCopy()
	last.ResourceVersion = strconv.Itoa(s.revision)
	delete(s.configMaps, name)
	s.events = append(s.events, simEvent{revision: s.revision, kind: watch.Deleted, object: last})
}

// refer lets a pod refer to a ConfigMap, to none if the name is empty.
func (s *simStore) refer(pod, name string) {
	s.revision++
	s.podRevision = s.revision
	delete(s.pods, pod)
	if name != "" {
		s.pods[pod] = name
	}
	s.events = append(s.events, simEvent{revision: s.revision, pod: pod, refersTo: name})
}

func (s *simStore) isReferenced(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(s.pods)), name)
}

// annotate stores annotations that the controller writes.
func (s *simStore) annotate(name string, uid types.UID, version string, annotations map[string]*string) (*corev1.ConfigMap, error) {
	o := s.configMaps[name]
	switch {
	case o == nil:
		return nil, apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	case o.UID != uid || o.ResourceVersion != version:
		return nil, apierrors.NewConflict(corev1.Resource("configmaps"), name, errors.New("another version"))
	}
	return s.change(name, func(o *corev1.ConfigMap) {
		for annotation, value := range annotations {
			s.setAnnotation(o, annotation, value)
			if annotation == series.UnusedSinceAnnotation && value != nil {
				fields := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:` + annotation + `":{}}}}`)
				o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: simManager, FieldsV1: fields}}
			}
		}
	}), nil
}

// setAnnotation sets an annotation, or removes it. Its manager is then not the controller any more.
func (s *simStore) setAnnotation(o *corev1.ConfigMap, annotation string, value *string) {
	if annotation == series.UnusedSinceAnnotation {
		o.ManagedFields = nil
	}
	if value == nil {
		delete(o.Annotations, annotation)
		return
	}
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[annotation] = *value
}

// collect deletes a ConfigMap for the controller, and judges that. fence is the revision at which the controller has read the references.
func (s *simStore) collect(name string, preconditions *metav1.Preconditions, fence int) error {
	o := s.configMaps[name]
	switch {
	case o == nil:
		return apierrors.NewNotFound(corev1.Resource("configmaps"), name)
	case preconditions == nil || preconditions.UID == nil || preconditions.ResourceVersion == nil:
		return errors.New("the controller deletes only with preconditions")
	case o.UID != *preconditions.UID || o.ResourceVersion != *preconditions.ResourceVersion || s.podRevision > fence:
		return apierrors.NewConflict(corev1.Resource("configmaps"), name, errors.New("the precondition is not met"))
	}
	since := o.CreationTimestamp.Time
	if used := s.decided[name]; used.After(since) {
		since = used
	}
	left := series.LeastAfter - time.Since(s.began)
	after, err := time.ParseDuration(o.Annotations[series.AfterAnnotation])
	// The mark of a controller that was killed counts. Then a minute counts from the start.
	if since.After(s.looks) {
		left = after - time.Since(since)
	}
	_, recreated := o.Annotations[series.RecreatedAnnotation]
	_, kept := o.Annotations[keep.Annotation]
	earlier, known := s.collected[identityOf(o)]
	switch {
	case s.isReferenced(name):
		s.wrong = fmt.Errorf("%s is deleted, and a pod refers to it", name)
	case err != nil || o.Immutable == nil || !isSelected(o) || recreated || kept:
		s.wrong = fmt.Errorf("%s is deleted, although it is not to be collected: labels %v, annotations %v", name, o.Labels, o.Annotations)
	case left > 0:
		s.wrong = fmt.Errorf("%s is deleted %s after its last use, and its annotation says %s", name, time.Since(since), after)
	case known && earlier != o.UID:
		s.wrong = fmt.Errorf("%s is deleted a second time, although a client has created it again with the same content", name)
	}
	s.collected[identityOf(o)] = o.UID
	s.remove(name)
	return nil
}

// isSelected reports whether an object is to be collected. The namespace selects the members of the series.
func isSelected(o *corev1.ConfigMap) bool {
	if value, ok := o.Labels[series.CollectLabel]; ok {
		return value == series.CollectUnused
	}
	return o.Labels[series.Label] != ""
}

// simIndex is what a server knows of the references. It learns of changes late.
type simIndex struct {
	mu     sync.Mutex
	store  *simStore
	next   int
	exists map[string]bool
	pods   map[string]string
	since  map[string]time.Time
	// gap is why not all references are known.
	gap    string
	notify func(kind references.Kind, namespace, name string)
	// subscribed says that the controller looks at objects, and looked that it did so while all references were known.
	subscribed, looked bool
}

// newSimIndex returns an index that has read the store.
func newSimIndex(store *simStore) *simIndex {
	x := &simIndex{
		store: store, next: len(store.events), exists: map[string]bool{}, pods: maps.Clone(store.pods), since: map[string]time.Time{},
		notify: func(references.Kind, string, string) {},
	}
	for name := range store.configMaps {
		x.exists[name], x.since[name] = true, time.Now()
	}
	return x
}

// Unused implements collection.Index.
func (x *simIndex) Unused(kind references.Kind, _, name string) (time.Time, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if kind != references.ConfigMap || !x.exists[name] || slices.Contains(slices.Collect(maps.Values(x.pods)), name) {
		return time.Time{}, false
	}
	return x.since[name], true
}

// Incomplete implements collection.Index.
func (x *simIndex) Incomplete(string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.gap
}

// Subscribe implements collection.Index.
func (x *simIndex) Subscribe(notify func(references.Kind, string, string)) func() {
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.notify, x.subscribed = notify, true
	x.look()
	return func() {}
}

// setGap says that not all references are known, or that they are.
// The caller holds the lock of the store.
func (x *simIndex) setGap(gap string) {
	x.mu.Lock()
	x.gap = gap
	x.look()
	x.mu.Unlock()
	x.notify(references.ConfigMap, simNamespace, "")
}

// look records when the controller began to look at objects while all references were known. The caller holds both locks.
func (x *simIndex) look() {
	if x.subscribed && x.gap == "" && !x.looked {
		x.looked, x.store.looks = true, time.Now()
	}
}

// learn applies the next event, and returns it. ok is false if there is none. The caller holds the lock of the store.
func (x *simIndex) learn() (e simEvent, ok bool) {
	if x.next == len(x.store.events) {
		return e, false
	}
	e = x.store.events[x.next]
	x.next++
	x.mu.Lock()
	var changed []string
	switch {
	case e.object == nil:
		changed = []string{x.pods[e.pod], e.refersTo}
		if before := x.pods[e.pod]; before != "" {
			x.since[before], x.store.used[before] = time.Now(), time.Now()
		}
		delete(x.pods, e.pod)
		if e.refersTo != "" {
			x.pods[e.pod] = e.refersTo
		}
	case e.kind == watch.Deleted:
		delete(x.exists, e.object.Name)
	default:
		if !x.exists[e.object.Name] {
			x.since[e.object.Name] = time.Now()
		}
		x.exists[e.object.Name] = true
		changed = []string{e.object.Name}
	}
	x.mu.Unlock()
	for _, name := range changed {
		if name != "" {
			x.notify(references.ConfigMap, simNamespace, name)
		}
	}
	return e, true
}
