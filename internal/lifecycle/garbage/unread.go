package garbage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev/holdfast/internal/reconcile"
)

// unreadTimeout bounds the time that a worker spends on an object of a kind that cannot be
// watched. The requests for such an object may wait for a webhook that does not answer, and
// the workers are needed for other objects.
const unreadTimeout = 5 * time.Second

// errSlow is the failure of a kind with a first list request that takes too long.
var errSlow = errors.New("the server does not answer the request for its objects")

// failure returns the reason that a kind cannot be watched at the moment, or nil.
func (c *collector) failure(k *kind) error {
	c.monitorsMu.Lock()
	m := c.monitors[k]
	c.monitorsMu.Unlock()
	if m == nil {
		return nil
	}
	return m.failure()
}

// unread returns the monitors that may miss dependents of the owner, because they are not
// listed yet or have failed. Dependents of a namespaced owner are in its namespace.
func (c *collector) unread(owner *object) []*monitor {
	c.monitorsMu.Lock()
	defer c.monitorsMu.Unlock()
	var found []*monitor
	for _, m := range c.monitors {
		if owner.namespace != "" && !m.kind.namespaced {
			continue
		}
		if !m.isListed() || m.failure() != nil {
			found = append(found, m)
		}
	}
	return found
}

// checkUnread returns an error if an object that the graph does not have may be a dependent of
// the owner that the filter selects. For a kind that cannot be watched it looks at the stored
// owner references, which conversions do not change.
func (c *collector) checkUnread(ctx context.Context, owner *object, filter func(*object) bool) error {
	for _, m := range c.unread(owner) {
		failure := m.failure()
		if failure == nil {
			return reconcile.ErrNotYet
		}
		resource := m.kind.GroupResource()
		if c.config.Stored == nil {
			return fmt.Errorf("%s %s waits, because %s cannot be read: %w", owner.kind.kind, owner.name, resource, failure)
		}
		stored, err := c.config.Stored.List(ctx, resource, owner.namespace)
		if err != nil {
			return fmt.Errorf("%s %s waits, because %s cannot be read: %w", owner.kind.kind, owner.name, resource, errors.Join(failure, err))
		}
		for i := range stored.Items {
			if filter(newObject(m.kind, &stored.Items[i])) {
				return fmt.Errorf("%s %s waits for its dependent %s %s, which cannot be read: %w",
					owner.kind.kind, owner.name, resource, stored.Items[i].Name, failure)
			}
		}
	}
	return nil
}
