package aggregation

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// dialTimeout bounds the time to open a connection to another server.
const dialTimeout = 10 * time.Second

// metadataAddresses returns the addresses at which clouds give credentials to the host and
// that are not link-local.
func metadataAddresses() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("100.100.100.200"),
	}
}

// dial opens a connection to another server. The host of an address can be a name, so dial
// checks the IP address that it really connects to.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return checkAddress(address)
	}}
	return dialer.DialContext(ctx, network, address)
}

// checkAddress returns an error for an address that belongs to this host or its link. Through such
// an address a user that may write a Service could reach other processes of this host.
func checkAddress(address string) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := target.Addr().Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast() || slices.Contains(metadataAddresses(), ip) {
		return fmt.Errorf("address %s is not allowed for an aggregated API: it is loopback, link-local, multicast or a metadata service", ip)
	}
	return nil
}
