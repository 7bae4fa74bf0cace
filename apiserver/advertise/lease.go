package advertise

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// A server that dies is out of the list within leaseDuration and renewEvery;
	// one renewal may be missed.
	renewEvery    = 10 * time.Second
	leaseDuration = 25 * time.Second
	// forgottenAfter is how old the Lease of a dead server gets before it goes.
	forgottenAfter = time.Hour

	// identityLabel is what Kubernetes' servers put on their Leases.
	identityLabel = "apiserver.kubernetes.io/identity"
	identityValue = "holdfast"
	// endpointAnnotation is where a server is reached.
	endpointAnnotation = "holdfast.dev/endpoint"
)

// leaseName is that of this server, in the form that Kubernetes' servers use.
func (p *Publisher) leaseName() string {
	sum := sha256.Sum256([]byte(p.config.Identity))
	return "apiserver-" + hex.EncodeToString(sum[:8])
}

// renew writes that this server is there.
func (p *Publisher) renew(ctx context.Context, now time.Time) error {
	leases := p.config.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
	found, err := leases.Get(ctx, p.leaseName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, p.lease(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: p.leaseName()}}, now), metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	_, err = leases.Update(ctx, p.lease(found.DeepCopy(), now), metav1.UpdateOptions{})
	return err
}

func (p *Publisher) lease(lease *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	metav1.SetMetaDataLabel(&lease.ObjectMeta, identityLabel, identityValue)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, endpointAnnotation, p.config.Own.String())
	seconds, renewed := int32(leaseDuration/time.Second), metav1.NewMicroTime(now)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &p.config.Identity, &seconds, &renewed
	return lease
}

// servers are where all servers are reached that are there now, in order.
func (p *Publisher) servers(ctx context.Context, now time.Time) ([]netip.AddrPort, error) {
	var all []netip.AddrPort
	if p.config.Own.IsValid() && !p.withdrawn {
		all = append(all, p.config.Own)
	}
	if p.config.Identity == "" {
		return all, nil
	}
	// From the server's memory: what was written a moment ago comes by the watch.
	leases := p.config.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
	list, err := leases.List(ctx, metav1.ListOptions{LabelSelector: identityLabel + "=" + identityValue, ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		lease := &list.Items[i]
		if lease.Name == p.leaseName() {
			continue
		}
		if lease.Spec.RenewTime == nil || now.Sub(lease.Spec.RenewTime.Time) > forgottenAfter {
			err := leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return nil, err
			}
			continue
		}
		server, err := netip.ParseAddrPort(lease.Annotations[endpointAnnotation])
		// Who does not say where it is reached is not published.
		if err == nil && now.Sub(lease.Spec.RenewTime.Time) <= leaseDuration {
			all = append(all, server)
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all), nil
}
