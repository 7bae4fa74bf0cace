package garbage_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/replacement"
)

// modelKind is a kind of the model.
type modelKind struct {
	kind, resource string
	namespaced     bool
}

var modelKinds = []modelKind{{"Boat", "boats", true}, {"Sail", "sails", true}, {"Sea", "seas", false}}

const modelGroup = "model.example.com"

// modelKey identifies an object of the model.
type modelKey struct{ kind, namespace, name string }

func (k modelKey) String() string { return k.kind + " " + k.namespace + "/" + k.name }

type modelMeta = metav1.PartialObjectMetadata

// modelEvent is a change of an object, with the object after it, or before it if it was deleted.
type modelEvent struct {
	revision int
	kind     watch.EventType
	key      modelKey
	object   *modelMeta
}

// modelStore has the rules of a server for finalizers and deletions. It keeps what it needs to judge the collector.
type modelStore struct {
	mu       sync.Mutex
	revision int
	objects  map[modelKey]*modelMeta
	events   map[string][]modelEvent
	records  map[types.UID]replacement.Record

	// keys are those of all objects that ever existed, and gone when they ended.
	keys map[types.UID]modelKey
	gone map[types.UID]time.Time
	// waited are the objects that ever waited for their dependents.
	waited map[types.UID]bool
	// orphaned are the dependents that existed when their owner was deleted with the policy Orphan.
	orphaned map[types.UID]map[types.UID]bool
	// wrong is the first wrong request of the collector.
	wrong error
}

func newModelStore() *modelStore {
	return &modelStore{
		objects: map[modelKey]*modelMeta{}, events: map[string][]modelEvent{}, records: map[types.UID]replacement.Record{},
		keys: map[types.UID]modelKey{}, gone: map[types.UID]time.Time{}, waited: map[types.UID]bool{}, orphaned: map[types.UID]map[types.UID]bool{},
	}
}

func hasFinalizer(o *modelMeta, name string) bool { return slices.Contains(o.Finalizers, name) }

// put stores an object at a new revision.
func (s *modelStore) put(key modelKey, o *modelMeta, event watch.EventType) {
	s.revision++
	o.ResourceVersion = strconv.Itoa(s.revision)
	s.objects[key] = o
	s.keys[o.UID] = key
	if o.DeletionTimestamp != nil && hasFinalizer(o, metav1.FinalizerDeleteDependents) {
		s.waited[o.UID] = true
	}
	s.events[key.kind] = append(s.events[key.kind], modelEvent{s.revision, event, key, o})
}

// remove removes an object at a new revision.
func (s *modelStore) remove(key modelKey) {
	s.revision++
	last := s.objects[key].DeepCopy()
	last.ResourceVersion = strconv.Itoa(s.revision)
	delete(s.objects, key)
	s.gone[last.UID] = time.Now()
	s.events[key.kind] = append(s.events[key.kind], modelEvent{s.revision, watch.Deleted, key, last})
}

// newObject returns an object with a new UID, which is not stored yet.
func (s *modelStore) newObject(key modelKey, owners []metav1.OwnerReference, finalizers []string) *modelMeta {
	return &modelMeta{
		TypeMeta: metav1.TypeMeta{APIVersion: modelGroup + "/v1", Kind: key.kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.namespace, Name: key.name, UID: types.UID(fmt.Sprintf("u%d", len(s.keys)+1)),
			OwnerReferences: owners, Finalizers: finalizers,
		},
	}
}

// change stores a changed copy of an object. An object that is being deleted is removed when it has no finalizer any more.
func (s *modelStore) change(key modelKey, change func(*modelMeta)) {
	o := s.objects[key].DeepCopy()
	change(o)
	s.put(key, o, watch.Modified)
	if o.DeletionTimestamp != nil && len(o.Finalizers) == 0 {
		s.remove(key)
	}
}

// delete deletes an object as a request with a policy does.
func (s *modelStore) delete(key modelKey, options metav1.DeleteOptions) error {
	o := s.objects[key]
	resource := schema.GroupResource{Group: modelGroup, Resource: key.kind}
	switch p := options.Preconditions; {
	case o == nil:
		return apierrors.NewNotFound(resource, key.name)
	case p != nil && (p.UID != nil && *p.UID != o.UID || p.ResourceVersion != nil && *p.ResourceVersion != o.ResourceVersion):
		return apierrors.NewConflict(resource, key.name, fmt.Errorf("the precondition is not met"))
	case o.DeletionTimestamp == nil && o.Annotations[keep.Annotation] != "":
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: "it is kept",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: keep.CauseTypeObjectKept}}},
		}}
	}
	s.promise(o, *options.PropagationPolicy)
	finalizers := slices.DeleteFunc(slices.Clone(o.Finalizers), func(name string) bool {
		return name == metav1.FinalizerOrphanDependents || name == metav1.FinalizerDeleteDependents
	})
	switch *options.PropagationPolicy {
	case metav1.DeletePropagationOrphan:
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	}
	if len(finalizers) == 0 {
		s.remove(key)
		return nil
	}
	s.change(key, func(o *modelMeta) {
		if o.DeletionTimestamp == nil {
			o.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
		o.Finalizers = finalizers
	})
	return nil
}

// promise records which dependents must stay after a deletion with a policy. A second deletion with the policy Orphan changes nothing.
func (s *modelStore) promise(owner *modelMeta, policy metav1.DeletionPropagation) {
	if policy == metav1.DeletePropagationOrphan && owner.DeletionTimestamp != nil && hasFinalizer(owner, metav1.FinalizerOrphanDependents) {
		return
	}
	for _, dependent := range s.objects {
		delete(s.orphaned[dependent.UID], owner.UID)
		for _, ref := range dependent.OwnerReferences {
			if policy != metav1.DeletePropagationOrphan || ref.UID != owner.UID || s.state(dependent, ref) == absent {
				continue
			}
			if s.orphaned[dependent.UID] == nil {
				s.orphaned[dependent.UID] = map[types.UID]bool{}
			}
			s.orphaned[dependent.UID][owner.UID] = true
		}
	}
}

// replace replaces an object by a new one of the same name in one write. A watch shows one change, as a watch in the process does.
func (s *modelStore) replace(key modelKey, dependents replacement.Dependents) {
	old := s.objects[key]
	created := s.newObject(key, old.OwnerReferences, nil)
	s.gone[old.UID] = time.Now()
	s.put(key, created, watch.Modified)
	if dependents == replacement.Collect {
		return
	}
	record := replacement.Record{
		Group: modelGroup, Kind: key.kind, Namespace: key.namespace, Name: key.name, Old: old.UID, Time: time.Now(),
	}
	if dependents == replacement.Adopt {
		record.New = created.UID
	}
	s.records[old.UID] = record
}

// asOf returns the objects of a kind at a revision.
func (s *modelStore) asOf(kind string, revision int) []modelMeta {
	found := map[modelKey]*modelMeta{}
	for _, e := range s.events[kind] {
		if e.revision > revision {
			break
		}
		if e.kind == watch.Deleted {
			delete(found, e.key)
		} else {
			found[e.key] = e.object
		}
	}
	var all []modelMeta
	for _, key := range sortedKeys(found) {
		all = append(all, *found[key])
	}
	return all
}

// sortedKeys returns the keys of objects in an order that is the same in each run.
func sortedKeys(objects map[modelKey]*modelMeta) []modelKey {
	var keys []modelKey
	for key := range objects {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b modelKey) int { return strings.Compare(a.String(), b.String()) })
	return keys
}
