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

	"holdfast.dev/holdfast/apiserver/advertise"
)

// newPublisher keeps the Service kubernetes, with the addresses of all servers
// that share the etcd.
func (s *Server) newPublisher(client kubernetes.Interface) (*advertise.Publisher, error) {
	own, err := s.advertised()
	if err != nil {
		return nil, err
	}
	config := advertise.Config{Client: client, Service: kubernetesService(own.Port()), Own: own}
	if !own.Addr().IsValid() {
		config.Own = netip.AddrPort{}
	}
	if s.member == nil {
		if config.Identity, err = identityOf(s.config.DataDir); err != nil {
			return nil, err
		}
	}
	publisher := advertise.New(config)
	s.onEnd(func(ctx context.Context) {
		// Who is not told finds out when the lease of this server runs out.
		if err := publisher.Withdraw(ctx); err != nil {
			klog.V(1).InfoS("address stays in the service kubernetes for a while", "err", err)
		}
	})
	return publisher, nil
}

// advertised is where others reach this server: as in Kubernetes, what the flag
// says or the address it listens on, and for one that is no address for others
// that of the host's default interface. The address is missing where there is none.
func (s *Server) advertised() (netip.AddrPort, error) {
	listening, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("advertised address: %w", err)
	}
	address := s.config.AdvertiseAddress
	if address == "" {
		resolved, err := utilnet.ResolveBindAddress(net.ParseIP(s.config.BindAddress))
		if err != nil {
			// A host without a network has no address for others.
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
		// Endpoints do not take what only this host or link can reach.
		return netip.AddrPortFrom(netip.Addr{}, listening.Port()), nil
	}
	return netip.AddrPortFrom(ip.Unmap(), listening.Port()), nil
}

func kubernetesService(port uint16) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "kubernetes",
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: serviceIP, ClusterIPs: []string{serviceIP},
			Ports: []corev1.ServicePort{{
				Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(int32(port)),
			}},
		},
	}
}
