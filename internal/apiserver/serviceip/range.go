package serviceip

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkingclient "k8s.io/client-go/kubernetes/typed/networking/v1"
)

// defaultRange is the name of the ServiceCIDR with the range of the server.
const defaultRange = "kubernetes"

// Publish creates the ServiceCIDR "kubernetes" with the range of cluster IPs, and sets its
// condition Ready. Clients that show or check the range read it there. Several servers may
// call it at the same time.
func (r Ranges) Publish(ctx context.Context, client networkingclient.ServiceCIDRsGetter) error {
	stored, err := client.ServiceCIDRs().Get(ctx, defaultRange, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		stored, err = client.ServiceCIDRs().Create(ctx, &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: defaultRange},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{r.Addresses.String()}},
		}, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil // the other server sets the condition
	}
	if err != nil {
		return fmt.Errorf("service range %s: %w", defaultRange, err)
	}
	if apimeta.FindStatusCondition(stored.Status.Conditions, networkingv1.ServiceCIDRConditionReady) != nil {
		return nil
	}
	apimeta.SetStatusCondition(&stored.Status.Conditions, metav1.Condition{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes default Service CIDR is ready",
	})
	_, err = client.ServiceCIDRs().UpdateStatus(ctx, stored, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("status of service range %s: %w", defaultRange, err)
	}
	return nil
}
