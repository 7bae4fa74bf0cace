package quota

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// Ledger knows what is used in every namespace that has quotas, and the number
// of objects in all of them. It is told of objects as they come and go, and calls
// back with the quotas whose status may have to change.
type Ledger struct {
	measures map[schema.GroupResource]*measure

	mu      sync.Mutex
	enqueue func(cache.ObjectName)
	// accounts are those of each namespace, by the names of their quotas.
	accounts map[string]map[string]*account
	census   census
}

// NewLedger is a ledger without accounts.
func NewLedger() *Ledger {
	l := &Ledger{
		measures: map[schema.GroupResource]*measure{},
		enqueue:  func(cache.ObjectName) {},
		accounts: map[string]map[string]*account{},
		census:   census{kinds: map[schema.GroupResource]*kind{}, counts: map[place]int64{}},
	}
	for _, m := range measures() {
		l.measures[m.resource] = m
	}
	return l
}

// Notify has enqueue called with a quota when what is used changes.
func (l *Ledger) Notify(enqueue func(cache.ObjectName)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enqueue = enqueue
}

// counted is the kind of which a name limits the number of objects.
func (l *Ledger) counted(name corev1.ResourceName) (schema.GroupResource, bool) {
	if resource, ok := aliases[name]; ok {
		return resource, true
	}
	limited, ok := strings.CutPrefix(string(name), "count/")
	if !ok {
		return schema.GroupResource{}, false
	}
	resource := schema.ParseGroupResource(limited)
	_, measured := l.measures[resource]
	return resource, !measured
}

// measured is the kind whose objects count under a name.
func (l *Ledger) measured(name corev1.ResourceName) *measure {
	for _, m := range l.measures {
		if m.names(name) {
			return m
		}
	}
	return nil
}

// Close forgets a quota.
func (l *Ledger) Close(quota cache.ObjectName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.accounts[quota.Namespace], quota.Name)
	if len(l.accounts[quota.Namespace]) == 0 {
		delete(l.accounts, quota.Namespace)
	}
}

// Open has an account kept for a quota. If there is none for its limits and
// scopes yet, objects are what the namespace holds of the kinds that are
// measured, and are read while no change is taken in.
func (l *Ledger) Open(quota *corev1.ResourceQuota, objects func() ([]Object, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[quota.Namespace][quota.Name]; a != nil && a.isFor(quota) {
		return nil
	}
	a := newAccount(quota)
	for name := range quota.Spec.Hard {
		if resource, ok := l.counted(name); ok {
			a.counts[name] = resource
		} else if m := l.measured(name); m != nil {
			a.measures[m.resource] = append(a.measures[m.resource], name)
		}
	}
	if len(a.measures) > 0 {
		found, err := objects()
		if err != nil {
			return err
		}
		for _, obj := range found {
			if err := l.take(a, obj, time.Now()); err != nil {
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
