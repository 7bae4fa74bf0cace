package policies

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/policy"
)

// statusInterval is the interval at which the status of the policies is compared again, in case a write failed.
const statusInterval = 10 * time.Second

// WriteStatus writes the status of the policies, and the objects of policies in files, until ctx ends. One server at a time does it.
func (r *Rules) WriteStatus(ctx context.Context, client dynamic.Interface) {
	ticker := time.NewTicker(statusInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		next := r.updated.Next()
		if t := r.current.Load(); t != nil {
			if err := r.writeAll(ctx, client, t); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "the status of ImmutabilityPolicies is not written")
			}
		}
		select {
		case <-ctx.Done():
		case <-next:
		case <-ticker.C:
		}
	}
}

func (r *Rules) writeAll(ctx context.Context, client dynamic.Interface, t *table) error {
	policies := client.Resource(policy.Policies())
	all, err := policies.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // the kind is not served
	}
	if err != nil {
		return err
	}
	if err := r.files.latest().write(ctx, policies, all); err != nil {
		return err
	}
	for i := range all.Items {
		said, known := t.Reports[all.Items[i].GetName()]
		if !known {
			continue
		}
		updated := policy.Reported(&all.Items[i], said)
		if updated == nil {
			continue
		}
		_, err := policies.UpdateStatus(ctx, updated, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("policy %s: %w", updated.GetName(), err)
		}
	}
	return nil
}
