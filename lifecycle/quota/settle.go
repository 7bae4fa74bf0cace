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
)

const (
	// settleLimit is how long one batch of charges may take.
	settleLimit = 10 * time.Second
	// longestPause is waited at most before a quota that others charge too is
	// tried again.
	longestPause = 10 * time.Millisecond
)

// settle decides a batch of charges and writes what the quotas are charged. A
// quota that was written is done; one that others wrote meanwhile is read and
// judged again.
func (p *Admission) settle(ctx context.Context, namespace string, batch []*charge) {
	// Whose turn it is may give up; the others have not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	quotas, err := p.view.known(ctx, namespace)
	live := false
	for {
		if err != nil {
			fail(batch, err)
			return
		}
		charged, refused := judge(quotas, batch)
		var left []string
		switch {
		case refused && !live:
			// The view may be old: something may have been released.
			left = names(quotas)
		default:
			for _, c := range batch {
				c.refused = c.err != nil
			}
			if left, err = p.write(ctx, quotas, charged); err != nil {
				fail(batch, err)
				return
			}
			if len(left) == 0 {
				return
			}
			if live {
				pause(ctx)
			}
		}
		live = true
		quotas, err = p.view.live(ctx, namespace)
		quotas = slices.DeleteFunc(quotas, func(quota corev1.ResourceQuota) bool { return !slices.Contains(left, quota.Name) })
	}
}

func names(quotas []corev1.ResourceQuota) []string {
	all := make([]string, len(quotas))
	for i := range quotas {
		all[i] = quotas[i].Name
	}
	return all
}

// fail answers all that were not refused.
func fail(batch []*charge, err error) {
	for _, c := range batch {
		if !c.refused {
			c.err = apierrors.NewInternalError(fmt.Errorf("charge resource quota: %w", err))
		}
	}
}

// pause lets others finish, each for another while.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(longestPause)):
	}
}

// judge adds up what the quotas are charged, one request after the other, and
// reports whether some request does not fit.
func judge(quotas []corev1.ResourceQuota, batch []*charge) (charged []corev1.ResourceQuota, refused bool) {
	charged = quotas
	for _, c := range batch {
		if c.refused {
			continue
		}
		next, err := resourcequota.CheckRequest(charged, c.Attributes, c.evaluator, nil)
		c.err = err
		switch {
		case err != nil:
			refused = true
		case !c.IsDryRun():
			charged = next
		}
	}
	return charged, refused
}

// write stores what quotas are charged and names those that have changed in the
// meantime. A quota that is gone limits nothing.
func (p *Admission) write(ctx context.Context, quotas, charged []corev1.ResourceQuota) (changed []string, err error) {
	for i := range charged {
		if quotav1.Equals(quotas[i].Status.Used, charged[i].Status.Used) {
			continue
		}
		err := p.view.update(ctx, &charged[i])
		switch {
		case apierrors.IsConflict(err):
			changed = append(changed, charged[i].Name)
		case err != nil && !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return changed, nil
}
