package quota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/cache"
)

const (
	// onItsWay is how long a charge may wait for its object to be seen. After
	// that it counts as one that led to nothing.
	onItsWay = 10 * time.Second
	// writePause is the least time between two writes of one status.
	writePause = 200 * time.Millisecond
)

// Reckoning is what the status of a quota should say.
type Reckoning struct {
	// Used is what is used of each limit that is known.
	Used corev1.ResourceList
	// Complete is false if there are limits of which the use is not known yet.
	Complete bool
	// Stale says that the quota is older than one that was written; there is
	// nothing to do until it is seen.
	Stale bool
	// Doubtful says that the quota seems to have been charged less than is there.
	// It may be old; if it is not, the reckoning holds.
	Doubtful bool
	// Again is when the quota is to be looked at again; zero: when it changes.
	Again time.Duration
	// Wait is how long a write has to wait, so that many changes are one write.
	Wait time.Duration

	account  *account
	released corev1.ResourceList
}

// sample is what the status said at a time, and what was released since.
type sample struct {
	at             time.Time
	used, released corev1.ResourceList
}

// Reckon says what the status of a quota should be. What the status has on top
// of the tally are charges for objects that were not seen yet: only what was
// released is taken from it, and the rest when it is old.
func (l *Ledger) Reckon(quota *corev1.ResourceQuota, now time.Time) Reckoning {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[quota.Namespace][quota.Name]
	if a == nil || older(quota.ResourceVersion, a.version) {
		return Reckoning{Stale: true}
	}
	r := Reckoning{Complete: true, account: a, Used: corev1.ResourceList{}, Again: l.expire(a, now)}
	r.released = a.released.DeepCopy()
	tally := corev1.ResourceList{}
	ahead := false
	for name := range quota.Spec.Hard {
		total, tracked, known := l.tally(quota.Namespace, a, name)
		was, had := quota.Status.Used[name]
		switch {
		case !tracked:
		case !known && had:
			r.Used[name] = was
		case !known:
			r.Complete = false
		case !had:
			r.Used[name] = total
		default:
			tally[name] = total
			left := minus(was, r.released[name])
			r.Doubtful = r.Doubtful || left.Cmp(total) < 0
			left = atLeast(left, total)
			r.Used[name] = left
			ahead = ahead || left.Cmp(total) > 0
		}
	}
	if ahead {
		r.Again = sooner(r.Again, a.judge(&r, tally, now))
	} else {
		a.sample = nil
	}
	r.Wait = max(0, writePause-now.Sub(a.written))
	return r
}

// judge takes off what the status had on top of the tally for too long: what it
// said then, less what was released since, was all there or seen by now. It
// returns when to judge again.
func (a *account) judge(r *Reckoning, tally corev1.ResourceList, now time.Time) time.Duration {
	if a.sample != nil && now.Sub(a.sample.at) >= onItsWay {
		for name, total := range tally {
			was, had := a.sample.used[name]
			if !had {
				continue
			}
			surplus := minus(minus(minus(was, a.sample.released[name]), r.released[name]), total)
			if surplus.Sign() > 0 {
				r.Used[name] = atLeast(minus(r.Used[name], surplus), total)
			}
		}
		a.sample = nil
	}
	if a.sample == nil {
		a.sample = &sample{at: now, used: r.Used.DeepCopy(), released: corev1.ResourceList{}}
	}
	return onItsWay - now.Sub(a.sample.at)
}

// tally is what is used under a name; tracked is false for a name under which
// nothing counts.
func (l *Ledger) tally(namespace string, a *account, name corev1.ResourceName) (total resource.Quantity, tracked, known bool) {
	if counted, ok := a.counts[name]; ok {
		// A scope is one of pods or claims; nothing else is in it.
		if len(a.scopes) > 0 {
			return number(0), true, true
		}
		count := l.census.counts[place{resource: counted, namespace: namespace}]
		return number(int(count)), true, l.census.complete(counted)
	}
	if l.measured(name) == nil {
		return total, false, false
	}
	if sum, ok := a.sum[name]; ok {
		return sum.DeepCopy(), true, true
	}
	return number(0), true, true
}

// Settle is called when a reckoning was written as this version of the quota, or
// with no version when there was nothing to write, or it is not known whether it
// was written: what was released is not released again.
func (l *Ledger) Settle(quota cache.ObjectName, r Reckoning, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[quota.Namespace][quota.Name]
	if a == nil || a != r.account {
		return
	}
	for name, quantity := range r.released {
		left := minus(a.released[name], quantity)
		if left.Sign() > 0 {
			a.released[name] = left
		} else {
			delete(a.released, name)
		}
		if a.sample != nil {
			a.sample.released[name] = plus(a.sample.released[name], quantity)
		}
	}
	if version != "" {
		a.version, a.written = version, time.Now()
	}
}

// atLeast is the greater of two quantities.
func atLeast(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}
