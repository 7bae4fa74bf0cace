package serviceip

import (
	"context"
	"errors"
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/failpoint"
)

// claims are the allocated values of one pool, cluster IPs or node ports. At most one
// Service may hold a value. A claim is an object in etcd, with the value as its key, so two
// servers never allocate the same value.
type claims struct {
	storage genericregistry.DryRunnableStorage
	prefix  string
}

// claim allocates a value to an owner. It returns false if the value is allocated
// already.
func (c claims) claim(ctx context.Context, value string, owner networkingv1.ParentReference, dryRun bool) (bool, error) {
	object := &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name:              value,
			UID:               uuid.NewUUID(),
			CreationTimestamp: metav1.Now(),
			Generation:        1,
			Labels: map[string]string{
				networkingv1.LabelIPAddressFamily: "IPv4",
				networkingv1.LabelManagedBy:       "ipallocator.holdfast.dev",
			},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &owner},
	}
	if err := failpoint.Fail("serviceip:claim"); err != nil {
		return false, fmt.Errorf("claim %s: %w", value, err)
	}
	err := c.storage.Create(ctx, c.prefix+value, object, &networkingv1.IPAddress{}, 0, dryRun)
	switch {
	case err == nil:
		return true, failpoint.Fail("serviceip:claimed")
	case storage.IsExist(err):
		return false, nil
	default:
		return false, fmt.Errorf("claim %s: %w", value, err)
	}
}

// errOtherClaim says that the stored claim is not the one to release.
var errOtherClaim = errors.New("the claim belongs to another owner")

// release releases a value that an owner holds. A value that is not allocated, or
// that another owner holds, stays as it is.
func (c claims) release(ctx context.Context, value string, owner networkingv1.ParentReference) error {
	return c.remove(ctx, value, func(claim *networkingv1.IPAddress) bool {
		return claim.Spec.ParentRef != nil && *claim.Spec.ParentRef == owner
	})
}

// releaseByUID releases a value if its claim still has the given UID.
func (c claims) releaseByUID(ctx context.Context, value string, uid types.UID) error {
	return c.remove(ctx, value, func(claim *networkingv1.IPAddress) bool { return claim.UID == uid })
}

// remove removes the claim of a value if the claim matches.
func (c claims) remove(ctx context.Context, value string, matches func(*networkingv1.IPAddress) bool) error {
	check := func(_ context.Context, obj runtime.Object) error {
		if claim, ok := obj.(*networkingv1.IPAddress); !ok || !matches(claim) {
			return errOtherClaim
		}
		return nil
	}
	if err := failpoint.Fail("serviceip:release"); err != nil {
		return err
	}
	err := c.storage.Delete(ctx, c.prefix+value, &networkingv1.IPAddress{}, nil, check, false, nil, storage.DeleteOptions{})
	if err == nil || storage.IsNotFound(err) || errors.Is(err, errOtherClaim) {
		return nil
	}
	return fmt.Errorf("release %s: %w", value, err)
}

// list returns every claim.
func (c claims) list(ctx context.Context) ([]networkingv1.IPAddress, error) {
	list := &networkingv1.IPAddressList{}
	options := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
	if err := c.storage.GetList(ctx, c.prefix, options, list); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return list.Items, nil
}

// leftoverAge is the age from which a claim without a Service is a leftover. A server
// leaves one if it is killed after it wrote the claim and before it wrote the Service.
const leftoverAge = time.Minute

// repair releases leftovers, and claims the values that Services hold without a claim. used
// maps each value to the Service that holds it.
func (c claims) repair(ctx context.Context, used map[string]networkingv1.ParentReference) error {
	existing, err := c.list(ctx)
	if err != nil {
		return err
	}
	claimed := make(map[string]bool, len(existing))
	for i := range existing {
		claim := &existing[i]
		claimed[claim.Name] = true
		if _, ok := used[claim.Name]; ok || time.Since(claim.CreationTimestamp.Time) < leftoverAge {
			continue
		}
		if err := c.releaseByUID(ctx, claim.Name, claim.UID); err != nil {
			return err
		}
	}
	for value, owner := range used {
		if claimed[value] {
			continue
		}
		if _, err := c.claim(ctx, value, owner, false); err != nil {
			return err
		}
	}
	return nil
}
