package garbage

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

const (
	// Discovery is asked soon after a definition changed, then after twice as
	// long each time: a kind is served some time after it was defined.
	firstLook = 250 * time.Millisecond
	lastLook  = time.Minute
)

// follow keeps a monitor for every kind until ctx ends.
func (c *collector) follow(ctx context.Context) {
	wait, next := firstLook, time.Now()
	for {
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.defined:
			timer.Stop()
			// Never later than it was due: definitions may change all the time.
			wait = firstLook
			if soon := time.Now().Add(wait); soon.Before(next) {
				next = soon
			}
		case <-timer.C:
			if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "kinds are not known, will be tried again", "controller", "garbage")
			}
			next = time.Now().Add(wait)
			wait = min(2*wait, lastLook)
		}
	}
}

// refresh starts and stops monitors as kinds come and go.
func (c *collector) refresh(ctx context.Context) error {
	found, err := discover(ctx, c.config.Discovery, c.known)
	if err != nil {
		return err
	}
	c.known = found
	c.monitorsMu.Lock()
	wanted := map[*kind]bool{}
	watched := map[schema.GroupVersionResource]bool{}
	for _, k := range found {
		if !k.collected || watched[k.GroupVersionResource] {
			continue
		}
		wanted[k], watched[k.GroupVersionResource] = true, true
		if c.monitors[k] == nil {
			m := &monitor{kind: k, graph: c.graph}
			if k.isDefinitions() {
				m.changed = c.noteDefinition
			}
			startMonitor(ctx, c.config.Metadata, m)
			c.monitors[k] = m
		}
	}
	var over []*monitor
	for k, m := range c.monitors {
		if !wanted[k] {
			over = append(over, m)
			delete(c.monitors, k)
		}
	}
	c.monitorsMu.Unlock()
	for _, m := range over {
		m.stop()
	}
	for _, uid := range c.kinds.set(found) {
		c.loop.Add(uid)
	}
	c.config.Census.Discovered()
	c.refreshed.Do(func() { close(c.discovered) })
	return nil
}

// noteDefinition has discovery asked soon.
func (c *collector) noteDefinition() {
	select {
	case c.defined <- struct{}{}:
	default:
	}
}

// allListed reports whether every object of every kind was seen.
func (c *collector) allListed() bool {
	c.monitorsMu.Lock()
	defer c.monitorsMu.Unlock()
	for _, m := range c.monitors {
		if !m.isListed() {
			return false
		}
	}
	return true
}

// waitListed waits until every object of every kind was seen, but not for kinds
// that cannot be listed for long.
func (c *collector) waitListed(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-c.discovered:
	case <-ctx.Done():
		return
	}
	c.monitorsMu.Lock()
	var pending []<-chan struct{}
	for _, m := range c.monitors {
		pending = append(pending, m.listed)
	}
	c.monitorsMu.Unlock()
	for _, listed := range pending {
		select {
		case <-listed:
		case <-ctx.Done():
			return
		}
	}
}
