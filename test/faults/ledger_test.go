package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"holdfast.dev/holdfast/internal/waittest"
)

// state is the state of an object, as far as writers decide about it.
type state struct {
	exists bool
	value  string
}

func (s state) String() string {
	if !s.exists {
		return "deleted"
	}
	return fmt.Sprintf("stored with %q", s.value)
}

// record is what the server must know about one object.
type record struct {
	// want is the last acknowledged state.
	want state
	// open is the state that a later write may have stored; nil without such a write.
	open *state
	// version is the highest acknowledged resourceVersion.
	version uint64
}

// ledger holds what the server has acknowledged. Each object has one writer, which writes one thing
// at a time.
type ledger struct {
	// count is the number of acknowledged writes, and opened that of writes without an answer.
	count, opened atomic.Int64
	mutex         sync.Mutex
	records       map[*kind]map[string]*record
	// versions has the acknowledged resourceVersions, with the name of the object.
	versions map[*kind]map[uint64]string
	highest  uint64
}

func newLedger() *ledger {
	l := &ledger{records: map[*kind]map[string]*record{}, versions: map[*kind]map[uint64]string{}}
	for _, k := range kinds {
		l.records[k], l.versions[k] = map[string]*record{}, map[uint64]string{}
	}
	return l
}

// begin returns the record of an object, before its writer sends a write. It also returns the highest
// version of all acknowledged writes: the new write must get a higher one.
func (l *ledger) begin(k *kind, name string) (*record, uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	r := l.records[k][name]
	if r == nil {
		r = &record{}
		l.records[k][name] = r
	}
	return r, l.highest
}

// end records the answer to a write that would result in the state next.
func (l *ledger) end(k *kind, name string, next state, a answer) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	r := l.records[k][name]
	switch a.outcome {
	case acknowledged:
		l.count.Add(1)
		r.want = next
		// The answer to a deletion need not have a version.
		if version := a.version(); version > 0 && next.exists {
			r.version = version
			l.versions[k][version] = name
			l.highest = max(l.highest, version)
		}
	case open:
		l.opened.Add(1)
		r.open = &next
	}
}

// await waits until the server has acknowledged a number of writes. It waits for a few at a time, so that
// a test fails only if there is no progress at all.
func (l *ledger) await(t *testing.T, writes int64) {
	t.Helper()
	for next := l.count.Load(); next < writes; {
		next = min(writes, next+50)
		waittest.Until(t, "acknowledged writes", func() error {
			if n := l.count.Load(); n < next {
				return fmt.Errorf("%w: %d of %d", errTooFew, n, writes)
			}
			return nil
		})
	}
}

// settle compares the stored objects with the ledger, and takes over the results of open writes.
func (l *ledger) settle(t *testing.T, c *client) {
	t.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, k := range kinds {
		list := c.get(t.Context(), k.path)
		if list.err != nil {
			t.Fatalf("list %s: %v", k.resource, list.err)
		}
		if list.version() < l.highest {
			t.Errorf("%s: the list has version %d, the server had acknowledged %d", k.resource, list.version(), l.highest)
		}
		stored := map[string]map[string]any{}
		for _, object := range items(list.object) {
			stored[nameOf(object)] = object
		}
		for _, name := range slices.Sorted(maps.Keys(l.records[k])) {
			r := l.records[k][name]
			if err := r.settle(k.stateOf(stored[name]), stored[name]); err != nil {
				t.Errorf("%s %s: %v", k.resource, name, err)
			}
		}
	}
}

// settle compares one stored object with its record. object is nil if there is none.
func (r *record) settle(found state, object map[string]any) error {
	if object == nil {
		found = state{}
	}
	if found != r.want && (r.open == nil || found != *r.open) {
		return fmt.Errorf("is %s, acknowledged was: %s", found, r.want)
	}
	if found.exists && versionOf(object) < r.version {
		return fmt.Errorf("has version %d, acknowledged was %d", versionOf(object), r.version)
	}
	r.want, r.open = found, nil
	return nil
}

// live returns the names of the objects of a writer that exist, sorted. It leaves out those with an open write, which may be stored at any
// time.
func (l *ledger) live(k *kind, mine func(name string) bool) []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var names []string
	for name, r := range l.records[k] {
		if r.want.exists && r.open == nil && mine(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
