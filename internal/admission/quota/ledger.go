package quota

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Ledger records the usage of all quotas, and the number of objects of every kind in
// every namespace. Watchers call it when objects are created, changed and deleted. It
// enqueues a quota when the status of the quota may have to change. A Ledger implements
// garbage.Counter.
type Ledger struct {
	evaluators map[schema.GroupResource]*evaluator

	mu      sync.Mutex
	enqueue func(cache.ObjectName)
	// accounts holds the accounts by namespace and by the name of the quota.
	accounts map[string]map[string]*account
	counts   counts
}

// NewLedger returns a ledger without quotas.
func NewLedger() *Ledger {
	l := &Ledger{
		evaluators: map[schema.GroupResource]*evaluator{},
		enqueue:    func(cache.ObjectName) {},
		accounts:   map[string]map[string]*account{},
		counts:     counts{kinds: map[schema.GroupResource]*watchedKind{}, objects: map[kindInNamespace]int64{}},
	}
	for _, e := range newEvaluators() {
		l.evaluators[e.resource] = e
	}
	return l
}

// Notify sets the function that the ledger calls with a quota when its usage may have
// changed.
func (l *Ledger) Notify(enqueue func(cache.ObjectName)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enqueue = enqueue
}

// countedKind returns the kind of the objects that are counted under the resource name. It
// returns false for the names of evaluated kinds.
func (l *Ledger) countedKind(name corev1.ResourceName) (schema.GroupResource, bool) {
	if resource, ok := aliases[name]; ok {
		return resource, true
	}
	limited, ok := strings.CutPrefix(string(name), "count/")
	if !ok {
		return schema.GroupResource{}, false
	}
	resource := schema.ParseGroupResource(limited)
	_, evaluated := l.evaluators[resource]
	return resource, !evaluated
}

// evaluatorFor returns the evaluator of the kind that has usage under the resource name,
// or nil.
func (l *Ledger) evaluatorFor(name corev1.ResourceName) *evaluator {
	for _, e := range l.evaluators {
		if e.limitedBy(name) {
			return e
		}
	}
	return nil
}

// Untrack removes the account of a quota.
func (l *Ledger) Untrack(quota cache.ObjectName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.accounts[quota.Namespace], quota.Name)
	if len(l.accounts[quota.Namespace]) == 0 {
		delete(l.accounts, quota.Namespace)
	}
}

// Track creates an account for the quota, unless there is one for its current limits and
// scopes. objects returns all objects of evaluated kinds in the namespace. Track calls it
// with the ledger locked, so that no change of an object is missed.
func (l *Ledger) Track(quota *corev1.ResourceQuota, objects func() ([]Object, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[quota.Namespace][quota.Name]; a != nil && a.isFor(quota) {
		return nil
	}
	a := newAccount(quota)
	for name := range quota.Spec.Hard {
		if resource, ok := l.countedKind(name); ok {
			a.counted[name] = resource
		} else if e := l.evaluatorFor(name); e != nil {
			a.evaluated[e.resource] = append(a.evaluated[e.resource], name)
		}
	}
	if len(a.evaluated) > 0 {
		found, err := objects()
		if err != nil {
			return err
		}
		for _, obj := range found {
			if err := l.record(a, obj, time.Now()); err != nil {
				return err
			}
		}
		a.released = corev1.ResourceList{}
	}
	if l.accounts[quota.Namespace] == nil {
		l.accounts[quota.Namespace] = map[string]*account{}
	}
	l.accounts[quota.Namespace][quota.Name] = a
	return nil
}
