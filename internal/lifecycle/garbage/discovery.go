package garbage

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

const (
	// After a CustomResourceDefinition changed, discovery is read after minInterval, then
	// after twice as long each time, up to maxInterval. It is read several times because
	// the server adds a kind some time after its definition is created.
	minInterval = 250 * time.Millisecond
	maxInterval = time.Minute
	// The pause before the next discovery is at least pauseFactor times as long as the last one
	// took, which grows with the number of kinds.
	pauseFactor = 10
)

// watchKinds runs a monitor for every kind until ctx ends.
func (c *collector) watchKinds(ctx context.Context) {
	wait, next := minInterval, time.Now()
	var pause time.Duration
	for {
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.definitions.changed:
			timer.Stop()
			// Do not postpone the next discovery: definitions may change all the time.
			wait = minInterval
			if soon := time.Now().Add(max(wait, pause)); soon.Before(next) {
				next = soon
			}
		case <-timer.C:
			start := time.Now()
			if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "kinds are not known, will be tried again", "controller", "garbage")
			}
			pause = min(pauseFactor*time.Since(start), maxInterval)
			next = time.Now().Add(max(wait, pause))
			wait = min(2*wait, maxInterval)
		}
	}
}

// refresh reads discovery. It starts monitors for new kinds and stops those of kinds that
// were removed.
func (c *collector) refresh(ctx context.Context) error {
	found, err := c.config.discover(ctx, c.known)
	if err != nil {
		return err
	}
	c.known = found
	c.monitorsMu.Lock()
	wanted := map[*kind]bool{}
	watched := map[schema.GroupVersionResource]bool{}
	for _, k := range found {
		if !k.collectable || watched[k.GroupVersionResource] {
			continue
		}
		wanted[k], watched[k.GroupVersionResource] = true, true
		if c.monitors[k] == nil {
			c.monitors[k] = c.startMonitor(ctx, k)
		}
	}
	var removed []*monitor
	for k, m := range c.monitors {
		if !wanted[k] {
			removed = append(removed, m)
			delete(c.monitors, k)
		}
	}
	c.monitorsMu.Unlock()
	for _, m := range removed {
		m.stop()
	}
	added, waiting := c.kinds.set(found)
	for _, k := range added {
		c.definitions.served(k.GroupResource())
	}
	for _, uid := range waiting {
		c.loop.Add(uid)
	}
	c.config.Counter.Discovered()
	c.discoveredOnce.Do(func() { close(c.discovered) })
	return nil
}

// waitListed waits until the objects of all kinds are listed, but at most for the timeout.
func (c *collector) waitListed(ctx context.Context, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
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
