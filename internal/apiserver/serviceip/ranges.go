package serviceip

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Ranges are the cluster IPs and node ports that Services get. The zero value means the
// defaults.
type Ranges struct {
	// Addresses is the range of cluster IPs, in IPv4. The default is a part of 10.96.0.0/12,
	// which is the default of kubeadm.
	Addresses netip.Prefix
	// NodePorts is the range of node ports. The default is that of Kubernetes.
	NodePorts utilnet.PortRange
}

// WithDefaults returns complete ranges, or an error if they cannot be used.
func (r Ranges) WithDefaults() (Ranges, error) {
	if r.Addresses == (netip.Prefix{}) {
		r.Addresses = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96}), 16)
	}
	if !r.Addresses.Addr().Is4() || r.Addresses.Bits() < 8 || r.Addresses.Bits() > 30 {
		return r, fmt.Errorf("service-cluster-ip-range %s: must be an IPv4 range between /8 and /30", r.Addresses)
	}
	r.Addresses = r.Addresses.Masked()
	if r.NodePorts == (utilnet.PortRange{}) {
		r.NodePorts = utilnet.PortRange{Base: 30000, Size: 2768}
	}
	if r.NodePorts.Base < 1 || r.NodePorts.Size < 1 || r.NodePorts.Base+r.NodePorts.Size > 1<<16 {
		return r, fmt.Errorf("service-node-port-range %s: must be ports between 1 and 65535", r.NodePorts.String())
	}
	return r, nil
}

// KubernetesIP returns the first usable address of the range of cluster IPs. It belongs to the
// Service "kubernetes".
func (r Ranges) KubernetesIP() string { return r.address(1) }

// size is the number of addresses in the range.
func (r Ranges) size() int { return 1 << (32 - r.Addresses.Bits()) }

// address returns the n-th address of the range.
func (r Ranges) address(n int) string {
	base := r.Addresses.Addr().As4()
	var out [4]byte
	binary.BigEndian.PutUint32(out[:], binary.BigEndian.Uint32(base[:])+uint32(n))
	return netip.AddrFrom4(out).String()
}
