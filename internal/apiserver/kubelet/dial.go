package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errAddress is the error of a connection to an address that is not allowed, in the words of
// Kubernetes.
var errAddress = errors.New("address not allowed")

// kubeletAddress reports whether the server may connect to a kubelet at an address. Loopback is
// allowed, because a kubelet may run on the host of the server.
func kubeletAddress(ip net.IP) bool { return ip.IsLoopback() || podAddress(ip) }

// podAddress reports whether the server may connect to a pod at an address. Link-local addresses are not
// allowed, nor metadataAddresses: there, clouds give credentials to every process of a host.
func podAddress(ip net.IP) bool {
	address, ok := netip.AddrFromSlice(ip)
	if !ok {
		return false
	}
	address = embedded(address.Unmap())
	return address.IsGlobalUnicast() && !slices.Contains(metadataAddresses, address)
}

// metadataAddresses are the addresses of metadata services that are not link-local.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),      // Amazon
	netip.MustParseAddr("fd00:ec2::23"),       // Amazon, credentials of pods
	netip.MustParseAddr("fd20:ce::254"),       // Google
	netip.MustParseAddr("168.63.129.16"),      // Azure
	netip.MustParseAddr("100.100.100.200"),    // Alibaba
	netip.MustParseAddr("192.0.0.192"),        // Oracle
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle
}

// translated is the prefix of IPv6 addresses that routers translate to the IPv4 address in their last four bytes (NAT64).
var translated = netip.MustParsePrefix("64:ff9b::/96")

// embedded returns the IPv4 address in a translated address, or the address itself.
func embedded(address netip.Addr) netip.Addr {
	if !translated.Contains(address) {
		return address
	}
	bytes := address.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}

// noProxy is the HTTP proxy of connections to kubelets and pods: there is none, whatever the environment of the server says. The
// server could not check to which address a proxy connects.
func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// dial returns a function that opens connections to allowed addresses only. It checks the IP address
// that it connects to. A check of the host name would not help: the name could resolve to another
// address afterwards.
func dial(allowed func(net.IP) bool, timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		if ip := net.ParseIP(host); ip == nil || !allowed(ip) {
			return errAddress
		}
		return nil
	}}
	return dialer.DialContext
}

// badGateway returns the error for a target that does not answer. The error of a kubelet or a pod
// that did answer stays as it is.
func badGateway(target string, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	if errors.Is(err, errAddress) {
		return apierrors.NewBadRequest(errAddress.Error())
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadGateway, Reason: metav1.StatusReasonUnknown,
		Message: fmt.Sprintf("%s does not answer: %v", target, err),
	}}
}

func (e endpoint) target() string { return fmt.Sprintf("the kubelet of node %q", e.node) }
