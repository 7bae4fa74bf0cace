package node

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// refusalEvery is how often the same refusal is logged.
const refusalEvery = 5 * time.Minute

// refusals logs why something does not happen that the agent tries again and
// again: what the server has against it, once, and at level 1 every attempt. It is
// also a log for parts of the Kubernetes libraries, and keeps of all that they log
// no more than that. That the server is away is said elsewhere (Connect).
type refusals struct {
	agent *Agent
	log   klog.Logger
	// what does not happen.
	what string

	mu   sync.Mutex
	last metav1.StatusReason
	said time.Time
}

func (a *Agent) refusals(ctx context.Context, what string) *refusals {
	return &refusals{agent: a, log: klog.FromContext(ctx), what: what}
}

// over is for the libraries.
func (r *refusals) over(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.New(r))
}

func (r *refusals) add(err error) {
	switch {
	case err == nil || errors.Is(err, context.Canceled):
	case isRefusal(err) && r.isNew(apierrors.ReasonForError(err)):
		r.log.Error(err, r.what, "node", r.agent.Name)
	default:
		r.log.V(1).Info(r.what, "node", r.agent.Name, "err", err)
	}
}

// isRefusal reports whether an error is what the server says to a request, and
// more than that another moment would be better.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsConflict(err) &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err)
}

func (r *refusals) isNew(reason metav1.StatusReason) bool {
	now := r.agent.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.said.IsZero() && reason == r.last && now.Sub(r.said) < refusalEvery {
		return false
	}
	r.last, r.said = reason, now
	return true
}

// Error implements klog.LogSink.
func (r *refusals) Error(err error, _ string, _ ...any) { r.add(err) }

// Init implements klog.LogSink.
func (r *refusals) Init(klog.RuntimeInfo) {}

// Enabled implements klog.LogSink.
func (r *refusals) Enabled(int) bool { return false }

// Info implements klog.LogSink.
func (r *refusals) Info(int, string, ...any) {}

// WithValues implements klog.LogSink.
func (r *refusals) WithValues(...any) klog.LogSink { return r }

// WithName implements klog.LogSink.
func (r *refusals) WithName(string) klog.LogSink { return r }
