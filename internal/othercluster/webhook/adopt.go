package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

const (
	// acceptInterval is the interval at which the API server is asked whether it accepts a new certificate.
	acceptInterval = time.Second
	// settleTime is the time for which the API server must have accepted a new certificate before it is used: other API
	// servers learn of the authority a moment later.
	settleTime = 3 * time.Second
)

// Acceptance says whether the API server accepts certificates. The zero value accepts all of them.
type Acceptance struct {
	// Accepts reports whether the API server accepts a certificate, because the webhook configurations have its authority.
	// A new certificate is used when it does. If Accepts is nil, it is used at once.
	Accepts func(ctx context.Context, pair *tls.Certificate) (bool, error)
	// Waiting is called while a new certificate is not used yet. It may be nil.
	Waiting func()
}

// adoption is the certificate in use, and the way to a new one.
type adoption struct {
	Acceptance
	current atomic.Pointer[tls.Certificate]
	// acceptedSince is the time since which the API server accepts the certificate that waits. Only adopt uses it, and
	// whatever calls adopt with another certificate sets it to zero.
	acceptedSince time.Time
}

// Certificate implements Keys.
func (a *adoption) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return a.current.Load(), nil
}

// adopt makes a certificate the current one, if the API server accepts it or the current one has expired. The result is
// false if it has to be tried again.
func (a *adoption) adopt(ctx context.Context, pair *tls.Certificate) bool {
	current, now := a.current.Load(), time.Now()
	if a.Accepts == nil || bytes.Equal(current.Certificate[0], pair.Certificate[0]) || hasExpired(current, now) {
		a.current.Store(pair)
		return true
	}
	if a.Waiting != nil {
		a.Waiting()
	}
	accepted, err := a.Accepts(ctx, pair)
	switch {
	case err != nil:
		klog.ErrorS(err, "the last certificate of the webhook stays in use")
		return false
	case !accepted:
		a.acceptedSince = time.Time{}
		return false
	case a.acceptedSince.IsZero():
		a.acceptedSince = now
	}
	if now.Sub(a.acceptedSince) < settleTime {
		// If the API server does not accept the current certificate, there is no reason to wait.
		still, err := a.Accepts(ctx, current)
		if err != nil {
			klog.ErrorS(err, "the last certificate of the webhook stays in use")
			return false
		}
		if still {
			return false
		}
	}
	a.current.Store(pair)
	return true
}

func hasExpired(pair *tls.Certificate, now time.Time) bool {
	leaf, err := leafOf(pair)
	return err != nil || now.After(leaf.NotAfter)
}
