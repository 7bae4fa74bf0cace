package quota

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/failpoint"
)

const (
	// chargeTimeout is how long one batch of charges may take.
	chargeTimeout = 10 * time.Second
	// maxBackOff is the longest wait before the write of a quota is retried, after another
	// client changed the quota at the same time.
	maxBackOff = 10 * time.Millisecond
)

// chargeAll checks the charges and writes the quotas. If another client changed a quota
// at the same time, chargeAll reads that quota again, checks the charges against it, and
// retries. Quotas that it has already written stay charged.
func (p *Admission) chargeAll(ctx context.Context, namespace string, charges []*charge) {
	// ctx belongs to one of the requests. Its cancellation must not affect the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), chargeTimeout)
	defer cancel()
	quotas, err := p.quotas.cached(ctx, namespace)
	fromServer := false
	for {
		if err != nil {
			fail(charges, err)
			return
		}
		charged, rejected := check(quotas, charges)
		// remaining are the names of the quotas that are not charged yet.
		var remaining []string
		switch {
		case rejected && !fromServer:
			// The cached quotas may be outdated, and usage may have been released since.
			// Read them from the server before rejecting a request.
			remaining = names(quotas)
		default:
			for _, c := range charges {
				c.rejected = c.err != nil
			}
			if remaining, err = p.write(ctx, quotas, charged); err != nil {
				fail(charges, err)
				return
			}
			if len(remaining) == 0 {
				return
			}
			if fromServer {
				backOff(ctx)
			}
		}
		fromServer = true
		quotas, err = p.quotas.read(ctx, namespace)
		quotas = slices.DeleteFunc(quotas, func(quota corev1.ResourceQuota) bool {
			return !slices.Contains(remaining, quota.Name)
		})
	}
}

func names(quotas []corev1.ResourceQuota) []string {
	all := make([]string, len(quotas))
	for i := range quotas {
		all[i] = quotas[i].Name
	}
	return all
}

// fail sets the error of all charges that are not rejected.
func fail(charges []*charge, err error) {
	for _, c := range charges {
		if !c.rejected {
			c.err = connection.TryAgain(fmt.Errorf("charge resource quota: %w", err), corev1.Resource("resourcequotas"), "charge")
		}
	}
}

// backOff waits for a random time, so that servers that change the same quota do not
// collide again.
func backOff(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(maxBackOff)):
	}
}

// check adds the charges to the usage of the quotas, one after the other, and sets the
// error of those that exceed a limit. It reports whether there are any. A dry run is
// checked, but not added.
func check(quotas []corev1.ResourceQuota, charges []*charge) (charged []corev1.ResourceQuota, rejected bool) {
	charged = quotas
	for _, c := range charges {
		if c.rejected {
			continue
		}
		next, err := c.check(charged)
		c.err = err
		switch {
		case err != nil:
			rejected = true
		case !c.IsDryRun():
			charged = next
		}
	}
	return charged, rejected
}

// check adds the charge to the usage of the quotas, and returns an error if that exceeds a limit. An object that replaces another one may
// use what that one uses. The status has the usage of both until the controller sees that the old object is gone, and releases its usage.
func (c *charge) check(quotas []corev1.ResourceQuota) ([]corev1.ResourceQuota, error) {
	if c.replaced == nil {
		return resourcequota.CheckRequest(quotas, c.Attributes, c.evaluator, nil)
	}
	reduced, usages := slices.Clone(quotas), make([]corev1.ResourceList, len(quotas))
	for i := range quotas {
		usage, err := c.usageOfReplaced(&quotas[i])
		if err != nil {
			return nil, err
		}
		usages[i] = usage
		reduced[i].Status.Used = quotav1.Subtract(quotas[i].Status.Used, usage)
	}
	next, err := resourcequota.CheckRequest(reduced, c.Attributes, c.evaluator, nil)
	if err != nil {
		return nil, err
	}
	next = slices.Clone(next)
	for i := range next {
		next[i].Status.Used = quotav1.Add(next[i].Status.Used, usages[i])
	}
	return next, nil
}

// usageOfReplaced returns the usage of the replaced object that is in the status of a quota.
func (c *charge) usageOfReplaced(quota *corev1.ResourceQuota) (corev1.ResourceList, error) {
	if matches, err := c.evaluator.Matches(quota, c.replaced); err != nil || !matches {
		return nil, err
	}
	usage, err := c.evaluator.Usage(c.replaced)
	if err != nil {
		return nil, err
	}
	return quotav1.Mask(usage, quotav1.ResourceNames(quota.Status.Used)), nil
}

// write writes each quota with a changed usage. It returns the names of the quotas that
// another client changed at the same time. It ignores a quota that was deleted.
func (p *Admission) write(ctx context.Context, quotas, charged []corev1.ResourceQuota) (changed []string, err error) {
	for i := range charged {
		if quotav1.Equals(quotas[i].Status.Used, charged[i].Status.Used) {
			continue
		}
		if err := failpoint.Fail("quota:charge"); err != nil {
			return nil, err
		}
		err := p.quotas.update(ctx, &charged[i])
		failpoint.Reach("quota:charged")
		switch {
		case apierrors.IsConflict(err):
			changed = append(changed, charged[i].Name)
		case err != nil && !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return changed, nil
}
