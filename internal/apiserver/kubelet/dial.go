package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errAddress is the error of a connection to an address that is not allowed, in the words of
// Kubernetes.
var errAddress = errors.New("address not allowed")

// kubeletAddress reports whether the server may connect to a kubelet at an address. Loopback is
// allowed, because a kubelet may run on the host of the server. Link-local addresses are not: there,
// clouds give credentials to every process of a host.
func kubeletAddress(ip net.IP) bool { return ip.IsGlobalUnicast() || ip.IsLoopback() }

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
