package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/simulation"
)

const quotaNamespace = "shop"

// modelObject is a pod or a Secret of the model.
type modelObject struct {
	pod    *corev1.Pod
	secret *corev1.Secret
}

func (o modelObject) uid() types.UID {
	if o.pod != nil {
		return o.pod.UID
	}
	return o.secret.UID
}

// usage is what a quota counts for the object.
func (o modelObject) usage() corev1.ResourceList {
	if o.pod == nil {
		return corev1.ResourceList{"secrets": resource.MustParse("1")}
	}
	if o.pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	return corev1.ResourceList{
		"pods": resource.MustParse("1"), "requests.cpu": o.pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU],
	}
}

// quotaEvent is a change of an object, with the object before and after it, or of the quota. It reaches each reader on its own.
type quotaEvent struct {
	before, after *modelObject
	quota         *corev1.ResourceQuota
	since         time.Time
}

// String names the object and what became of it.
func (e quotaEvent) String() string {
	switch {
	case e.quota != nil:
		return "the quota with " + quantities(e.quota.Status.Used)
	case e.after == nil:
		return fmt.Sprintf("that %s is gone", e.before.uid())
	default:
		return string(e.after.uid())
	}
}

// quotaStore has a quota, and the objects that it counts.
type quotaStore struct {
	mu       sync.Mutex
	revision int
	created  int
	quota    *corev1.ResourceQuota
	objects  map[types.UID]*modelObject
	readers  []*quotaReader
	// pending are the objects of requests that have not ended, with their begin.
	pending map[types.UID]time.Time
	// replaces says that users replace objects. Then the status may have the usage of an old object and of the new one.
	replaces bool
}

// quotaReader is a part that follows the store, and the events that have not reached it.
type quotaReader struct {
	name   string
	apply  func(quotaEvent)
	events []quotaEvent
	// derived says that another reader passes the events on.
	derived bool
}

func (s *quotaStore) used() corev1.ResourceList {
	sum := corev1.ResourceList{"pods": {}, "requests.cpu": {}, "secrets": {}}
	for _, o := range s.objects {
		sum = quotav1.Add(sum, o.usage())
	}
	return sum
}

// publish sends an event to all readers.
func (s *quotaStore) publish(e quotaEvent) {
	for _, reader := range s.readers {
		if !reader.derived {
			reader.events = append(reader.events, e)
		}
	}
}

// update stores the status of the quota.
func (s *quotaStore) update(changed *corev1.ResourceQuota) (*corev1.ResourceQuota, error) {
	if changed.ResourceVersion != s.quota.ResourceVersion {
		return nil, apierrors.NewConflict(corev1.Resource("resourcequotas"), changed.Name, errors.New("another version"))
	}
	stored := s.quota.DeepCopy()
	stored.Status = *changed.Status.DeepCopy()
	s.put(stored)
	return stored.DeepCopy(), nil
}

func (s *quotaStore) put(quota *corev1.ResourceQuota) {
	s.revision++
	quota.ResourceVersion = strconv.Itoa(s.revision)
	s.quota = quota
	s.publish(quotaEvent{quota: quota, since: time.Now()})
}

// set stores an object, or deletes it.
func (s *quotaStore) set(before, after *modelObject, since time.Time) {
	s.revision++
	if after != nil {
		s.objects[after.uid()] = after
	}
	if before != nil && (after == nil || after.uid() != before.uid()) {
		delete(s.objects, before.uid())
	}
	s.publish(quotaEvent{before: before, after: after, since: since})
}

// oldest returns for how long a request or an event has waited, and whether one waits.
func (s *quotaStore) oldest() (oldest time.Duration, waiting bool) {
	for _, since := range s.pending {
		oldest, waiting = max(oldest, time.Since(since)), true
	}
	for _, reader := range s.readers {
		for _, e := range reader.events {
			oldest, waiting = max(oldest, time.Since(e.since)), true
		}
	}
	return oldest, waiting
}

// check returns an error if objects use more than the quota says, or than it allows.
func (s *quotaStore) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.used()
	for _, name := range slices.Sorted(maps.Keys(used)) {
		actual, charged, hard := used[name], s.quota.Status.Used[name], s.quota.Spec.Hard[name]
		if actual.Cmp(hard) > 0 {
			return fmt.Errorf("the objects use %s of %s, and the quota allows %s", actual.String(), name, hard.String())
		}
		if charged.Cmp(hard) > 0 && !s.replaces {
			return fmt.Errorf("the status has %s of %s, and the quota allows %s", charged.String(), name, hard.String())
		}
		if actual.Cmp(charged) > 0 {
			return fmt.Errorf("the objects use %s of %s, and the status has %s", actual.String(), name, charged.String())
		}
	}
	return nil
}

// quotaClient sends the requests of one server or of the controller.
type quotaClient struct {
	kubernetes.Interface
	corev1client.CoreV1Interface
	corev1client.ResourceQuotaInterface
	name  string
	world *simulation.World
	store *quotaStore
}

// CoreV1 implements kubernetes.Interface.
func (c *quotaClient) CoreV1() corev1client.CoreV1Interface { return c }

// ResourceQuotas implements corev1client.ResourceQuotasGetter.
func (c *quotaClient) ResourceQuotas(string) corev1client.ResourceQuotaInterface { return c }

// request waits for the scheduler. A request may fail, or its answer may be lost.
func (c *quotaClient) request(ctx context.Context, verb string, do func() error) error {
	random, err := c.world.Wait(ctx, verb+" the quota, as the "+c.name)
	if err != nil {
		return err
	}
	fate := 100
	if random != nil {
		fate = random.IntN(100)
	}
	if fate < 4 {
		return apierrors.NewServerTimeout(corev1.Resource("resourcequotas"), verb, 1)
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	if err := do(); err != nil || fate >= 8 {
		return err
	}
	return apierrors.NewTimeoutError("the answer is lost", 1)
}

// Get implements corev1client.ResourceQuotaInterface.
func (c *quotaClient) Get(ctx context.Context, _ string, _ metav1.GetOptions) (found *corev1.ResourceQuota, err error) {
	err = c.request(ctx, "reads", func() error {
		found = c.store.quota.DeepCopy()
		return nil
	})
	return found, err
}

// List implements corev1client.ResourceQuotaInterface.
func (c *quotaClient) List(ctx context.Context, _ metav1.ListOptions) (list *corev1.ResourceQuotaList, err error) {
	list = &corev1.ResourceQuotaList{}
	err = c.request(ctx, "lists", func() error {
		list.Items = []corev1.ResourceQuota{*c.store.quota.DeepCopy()}
		return nil
	})
	return list, err
}

// UpdateStatus implements corev1client.ResourceQuotaInterface.
func (c *quotaClient) UpdateStatus(
	ctx context.Context, quota *corev1.ResourceQuota, _ metav1.UpdateOptions,
) (stored *corev1.ResourceQuota, err error) {
	err = c.request(ctx, "writes", func() error {
		stored, err = c.store.update(quota)
		return err
	})
	return stored, err
}

// modelInformer is an informer whose objects the simulation changes.
type modelInformer struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
}

func newModelInformer() modelInformer {
	return modelInformer{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

// HasSynced implements cache.SharedIndexInformer.
func (modelInformer) HasSynced() bool { return true }

// GetIndexer implements cache.SharedIndexInformer.
func (i modelInformer) GetIndexer() cache.Indexer { return i.indexer }

// quotaInformer is modelInformer in the form that admission takes.
type quotaInformer struct{ modelInformer }

// Informer implements coreinformers.ResourceQuotaInformer.
func (i quotaInformer) Informer() cache.SharedIndexInformer { return i.modelInformer }

// Lister implements coreinformers.ResourceQuotaInformer.
func (i quotaInformer) Lister() corelisters.ResourceQuotaLister {
	return corelisters.NewResourceQuotaLister(i.indexer)
}
