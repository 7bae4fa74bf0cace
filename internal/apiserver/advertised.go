package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/advertise"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// newPublisher returns the controller of the Service kubernetes, which holds the
// addresses of all servers that share the etcd. A shutdown withdraws the address of
// this one. rules may be nil.
func newPublisher(b start.Base, h *start.Hooks, client kubernetes.Interface, rules *policies.Rules) (*advertise.Publisher, error) {
	own, err := advertised(b)
	if err != nil {
		return nil, err
	}
	config := advertise.Config{Client: client, Service: kubernetesService(own.Port(), b.Config.Services.KubernetesIP()), Own: own}
	if rules != nil {
		config.Annotations = rules.LeaseAnnotations
	}
	if !own.Addr().IsValid() {
		config.Own = netip.AddrPort{}
	}
	if b.SharesEtcd() {
		if config.Identity, err = start.ServerIdentity(b.Config.DataDir); err != nil {
			return nil, err
		}
	}
	publisher := advertise.New(config)
	h.OnShutdown(func(ctx context.Context) {
		// If this fails, the other servers drop the address when the lease of this server
		// expires.
		if err := publisher.Withdraw(ctx); err != nil {
			klog.V(1).InfoS("address stays in the service kubernetes for a while", "err", err)
		}
	})
	return publisher, nil
}

// advertised returns the address and port at which other hosts reach this server. As in
// Kubernetes, the address is that of the flag --advertise-address. Without the flag, it is
// the address that the server listens on, or the address of the host's default interface if
// the server listens on a loopback or unspecified address. If other hosts cannot reach any
// of these, the result has a port and an invalid address.
func advertised(b start.Base) (netip.AddrPort, error) {
	listening, err := netip.ParseAddrPort(b.Addr().String())
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("advertised address: %w", err)
	}
	address := b.Config.AdvertiseAddress
	if address == "" {
		resolved, err := utilnet.ResolveBindAddress(net.ParseIP(b.Config.BindAddress))
		if err != nil {
			// A host without a network has no address that other hosts can reach.
			klog.InfoS("no address of this host to put into the service kubernetes; name one with --advertise-address", "err", err)
			return netip.AddrPortFrom(netip.Addr{}, listening.Port()), nil
		}
		address = resolved.String()
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("advertised address: %w", err)
	}
	if !ip.IsGlobalUnicast() {
		// Endpoints must not hold an address that only this host or link can reach.
		return netip.AddrPortFrom(netip.Addr{}, listening.Port()), nil
	}
	return netip.AddrPortFrom(ip.Unmap(), listening.Port()), nil
}

func kubernetesService(port uint16, address string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "kubernetes",
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: address, ClusterIPs: []string{address},
			Ports: []corev1.ServicePort{{
				Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(int32(port)),
			}},
		},
	}
}
