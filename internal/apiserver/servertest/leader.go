package servertest

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/waittest"
)

// ControllersLease is the name of the Lease, in kube-system, that the leader of the
// controllers holds.
const ControllersLease = "holdfast-controllers"

// SetLeader gives the Lease of the controllers to a holder, as if the holder had just
// renewed it. No other process runs the controllers before the duration has passed.
func SetLeader(t testing.TB, client kubernetes.Interface, holder string, duration time.Duration) {
	t.Helper()
	seconds, now := int32(duration/time.Second), metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
	}
	leases := client.CoordinationV1().Leases(metav1.NamespaceSystem)
	waittest.Until(t, "Lease of "+holder, func() error {
		lease, err := leases.Get(t.Context(), ControllersLease, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: ControllersLease}, Spec: spec}
			_, err = leases.Create(t.Context(), lease, metav1.CreateOptions{})
		} else if err == nil {
			lease.Spec = spec
			_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		}
		// The leader may write the Lease at the same time.
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		return err
	})
}
