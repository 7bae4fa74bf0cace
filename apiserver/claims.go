package apiserver

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
)

// claims are values that at most one Service may have: cluster IPs, node ports.
// A claim is an object in etcd under the value's name, so that two servers
// never hand out the same one.
type claims struct {
	storage genericregistry.DryRunnableStorage
	prefix  string
}

// take claims a value for an owner and says false if it is taken.
func (c claims) take(ctx context.Context, value string, owner networkingv1.ParentReference, dryRun bool) (bool, error) {
	claim := &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name:              value,
			UID:               uuid.NewUUID(),
			CreationTimestamp: metav1.Now(),
			Generation:        1,
			Labels:            map[string]string{networkingv1.LabelIPAddressFamily: "IPv4", networkingv1.LabelManagedBy: "ipallocator.holdfast.dev"},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &owner},
	}
	err := c.storage.Create(ctx, c.prefix+value, claim, &networkingv1.IPAddress{}, 0, dryRun)
	switch {
	case err == nil:
		return true, nil
	case storage.IsExist(err):
		return false, nil
	default:
		return false, fmt.Errorf("claim %s: %w", value, err)
	}
}

// errOthers says that a claim is not whose it should be.
var errOthers = errors.New("the claim is another's")

// giveBack gives a value back that is an owner's; one that nobody has is given back
// already.
func (c claims) giveBack(ctx context.Context, value string, owner networkingv1.ParentReference) error {
	return c.remove(ctx, value, func(claim *networkingv1.IPAddress) bool {
		return claim.Spec.ParentRef != nil && *claim.Spec.ParentRef == owner
	})
}

// release gives a value back whose claim is the one that was seen.
func (c claims) release(ctx context.Context, value string, uid types.UID) error {
	return c.remove(ctx, value, func(claim *networkingv1.IPAddress) bool { return claim.UID == uid })
}

// remove removes a claim if it is the one that is meant.
func (c claims) remove(ctx context.Context, value string, meant func(*networkingv1.IPAddress) bool) error {
	check := func(_ context.Context, obj runtime.Object) error {
		if claim, ok := obj.(*networkingv1.IPAddress); !ok || !meant(claim) {
			return errOthers
		}
		return nil
	}
	err := c.storage.Delete(ctx, c.prefix+value, &networkingv1.IPAddress{}, nil, check, false, nil, storage.DeleteOptions{})
	if err == nil || storage.IsNotFound(err) || errors.Is(err, errOthers) {
		return nil
	}
	return fmt.Errorf("release %s: %w", value, err)
}

// list gives every claim.
func (c claims) list(ctx context.Context) ([]networkingv1.IPAddress, error) {
	list := &networkingv1.IPAddressList{}
	options := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
	if err := c.storage.GetList(ctx, c.prefix, options, list); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return list.Items, nil
}

// settled is the age from which a claim without its Service is a leftover of a
// server that was killed between the two writes.
const settled = time.Minute

// repair releases leftovers and claims anew what Services have; used maps each
// value that a Service has to the Service.
func (c claims) repair(ctx context.Context, used map[string]networkingv1.ParentReference) error {
	existing, err := c.list(ctx)
	if err != nil {
		return err
	}
	claimed := make(map[string]bool, len(existing))
	for i := range existing {
		claim := &existing[i]
		claimed[claim.Name] = true
		if _, ok := used[claim.Name]; ok || time.Since(claim.CreationTimestamp.Time) < settled {
			continue
		}
		if err := c.release(ctx, claim.Name, claim.UID); err != nil {
			return err
		}
	}
	for value, owner := range used {
		if claimed[value] {
			continue
		}
		if _, err := c.take(ctx, value, owner, false); err != nil {
			return err
		}
	}
	return nil
}
