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
	// A server that dies leaves the list within leaseDuration plus renewEvery. A server may
	// miss one renewal.
	renewEvery    = 10 * time.Second
	leaseDuration = 25 * time.Second
	// forgottenAfter is the time after the last renewal at which the Lease of a dead server
	// is deleted.
	forgottenAfter = time.Hour

	// identityLabel is the label that the API servers of Kubernetes put on their Leases.
	identityLabel = "apiserver.kubernetes.io/identity"
	identityValue = "holdfast"
	// endpointAnnotation holds the address of a server.
	endpointAnnotation = "holdfast.dev/endpoint"
)

// leaseName returns the name of the Lease of this server: the prefix that the API servers
// of Kubernetes use, and a hash of the identity.
func (p *Publisher) leaseName() string {
	sum := sha256.Sum256([]byte(p.config.Identity))
	return "apiserver-" + hex.EncodeToString(sum[:8])
}

// renew creates or renews the Lease of this server.
func (p *Publisher) renew(ctx context.Context, now time.Time) error {
	leases := p.config.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
	found, err := leases.Get(ctx, p.leaseName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease := p.lease(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: p.leaseName()}}, now)
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	_, err = leases.Update(ctx, p.lease(found.DeepCopy(), now), metav1.UpdateOptions{})
	return err
}

// lease sets the fields of the Lease of this server.
func (p *Publisher) lease(lease *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	metav1.SetMetaDataLabel(&lease.ObjectMeta, identityLabel, identityValue)
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, endpointAnnotation, p.config.Own.String())
	if p.config.Annotations != nil {
		for key, value := range p.config.Annotations() {
			metav1.SetMetaDataAnnotation(&lease.ObjectMeta, key, value)
			if value == "" {
				delete(lease.Annotations, key)
			}
		}
	}
	seconds, renewed := int32(leaseDuration/time.Second), metav1.NewMicroTime(now)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &p.config.Identity, &seconds, &renewed
	return lease
}

// servers returns the addresses of all live servers, sorted. It deletes the Leases of servers
// that died long ago.
func (p *Publisher) servers(ctx context.Context, now time.Time) ([]netip.AddrPort, error) {
	var all []netip.AddrPort
	if p.config.Own.IsValid() && !p.withdrawn {
		all = append(all, p.config.Own)
	}
	if p.config.Identity == "" {
		return all, nil
	}
	// Read from the watch cache. A Lease that is missing there arrives by the watch soon.
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
			unchanged := &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion}
			err := leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: unchanged})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return nil, err
			}
			continue
		}
		server, err := netip.ParseAddrPort(lease.Annotations[endpointAnnotation])
		// A Lease without an address is not published.
		if err == nil && now.Sub(lease.Spec.RenewTime.Time) <= leaseDuration {
			all = append(all, server)
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all), nil
}
