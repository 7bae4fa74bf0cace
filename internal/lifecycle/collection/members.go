package collection

import (
	"maps"
	"slices"
	"sync"

	"holdfast.dev/holdfast/internal/series"
)

// members has the members of all series. It is safe for concurrent use.
type members struct {
	mu     sync.Mutex
	series map[key]map[string]series.Member
	// kept has the objects that would be marked if they were not among the newest of their series.
	kept map[key]map[key]struct{}
}

func newMembers() *members {
	return &members{series: map[key]map[string]series.Member{}, kept: map[key]map[key]struct{}{}}
}

// replace replaces the old state of an object by a new one. One of both may be nil. It returns the series of which the members have changed.
func (m *members) replace(before, after *object) []key {
	var old, current key
	var wasIn, isIn bool
	if before != nil {
		old, wasIn = before.seriesKey()
	}
	if after != nil {
		current, isIn = after.seriesKey()
	}
	if wasIn && isIn && old == current && before.UID == after.UID {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var changed []key
	if wasIn {
		delete(m.series[old], before.Name)
		if len(m.series[old]) == 0 {
			delete(m.series, old)
		}
		changed = append(changed, old)
	}
	if isIn {
		if m.series[current] == nil {
			m.series[current] = map[string]series.Member{}
		}
		m.series[current][after.Name] = series.Member{Name: after.Name, Created: after.CreationTimestamp.Time}
		changed = append(changed, current)
	}
	return changed
}

// isAmong reports whether an object is one of the newest members of its series. It looks at members until it has found enough that are newer.
func (m *members) isAmong(newest int, o *object) bool {
	in, ok := o.seriesKey()
	if !ok {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	self, newer := series.Member{Name: o.Name, Created: o.CreationTimestamp.Time}, 0
	for _, other := range m.series[in] {
		if newer >= newest {
			return false
		}
		if series.Compare(in.series, other, self) < 0 {
			newer++
		}
	}
	return newer < newest
}

// keep records that an object is kept as one of the newest of its series, or that it is not.
func (m *members) keep(o *object, kept bool) {
	in, ok := o.seriesKey()
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !kept {
		m.release(in, o.key())
		return
	}
	if m.kept[in] == nil {
		m.kept[in] = map[key]struct{}{}
	}
	m.kept[in][o.key()] = struct{}{}
}

func (m *members) release(in, k key) {
	delete(m.kept[in], k)
	if len(m.kept[in]) == 0 {
		delete(m.kept, in)
	}
}

// takeOlder returns the kept objects of a series that are not among the newest any more, and forgets them. keepLast returns how many are kept for the
// sake of an object.
func (m *members) takeOlder(in key, keepLast func(key) int) []key {
	m.mu.Lock()
	kept := slices.Collect(maps.Keys(m.kept[in]))
	var sorted []series.Member
	if len(kept) > 0 {
		sorted = slices.Collect(maps.Values(m.series[in]))
	}
	m.mu.Unlock()
	// A series may have thousands of members, and other namespaces do not wait for it: it is sorted without the lock. A member that comes or goes
	// meanwhile makes the controller look at the series again.
	series.Sort(in.series, sorted)
	rank := make(map[string]int, len(sorted))
	for i, member := range sorted {
		rank[member.Name] = i
	}
	var older []key
	for _, k := range kept {
		if at, ok := rank[k.name]; !ok || at >= keepLast(k) {
			older = append(older, k)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range older {
		m.release(in, k)
	}
	return older
}
