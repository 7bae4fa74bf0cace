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

// rejectionLogInterval is the time between two log lines for the same rejection.
const rejectionLogInterval = 5 * time.Minute

// rejectionLog logs the errors of an operation that the agent repeats until it
// succeeds. It logs an error once if the server rejected the request, and repeats the
// line after rejectionLogInterval. Every other error is logged at level 1; Connect
// already reports that the server cannot be reached.
//
// It is also a klog.LogSink, for Kubernetes libraries that do the operation. It
// handles the errors that they log in the same way and drops everything else.
type rejectionLog struct {
	agent *Agent
	log   klog.Logger
	// message says which operation failed.
	message string

	mu         sync.Mutex
	lastReason metav1.StatusReason
	lastTime   time.Time
}

func (a *Agent) newRejectionLog(ctx context.Context, what string) *rejectionLog {
	return &rejectionLog{agent: a, log: klog.FromContext(ctx), message: what}
}

// context returns a context for a Kubernetes library, with r as its logger.
func (r *rejectionLog) context(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.New(r))
}

func (r *rejectionLog) add(err error) {
	err = r.agent.Credential.explain(err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
	case isRejection(err) && r.isNew(apierrors.ReasonForError(err)):
		r.log.Error(err, r.message, "node", r.agent.Name)
	default:
		r.log.V(1).Info(r.message, "node", r.agent.Name, "err", err)
	}
}

// isRejection reports whether the server rejected the request for a reason that does
// not go away by itself. Conflicts and overload go away, so they do not count.
func isRejection(err error) bool {
	var status apierrors.APIStatus
	return isOtherAgent(err) || errors.As(err, &status) && !apierrors.IsConflict(err) &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsServiceUnavailable(err)
}

// isNew reports whether this reason has to be logged: it differs from the last one,
// or rejectionLogInterval has passed.
func (r *rejectionLog) isNew(reason metav1.StatusReason) bool {
	now := r.agent.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lastTime.IsZero() && reason == r.lastReason && now.Sub(r.lastTime) < rejectionLogInterval {
		return false
	}
	r.lastReason, r.lastTime = reason, now
	return true
}

// Error implements klog.LogSink.
func (r *rejectionLog) Error(err error, _ string, _ ...any) { r.add(err) }

// Init implements klog.LogSink.
func (r *rejectionLog) Init(klog.RuntimeInfo) {}

// Enabled implements klog.LogSink.
func (r *rejectionLog) Enabled(int) bool { return false }

// Info implements klog.LogSink.
func (r *rejectionLog) Info(int, string, ...any) {}

// WithValues implements klog.LogSink.
func (r *rejectionLog) WithValues(...any) klog.LogSink { return r }

// WithName implements klog.LogSink.
func (r *rejectionLog) WithName(string) klog.LogSink { return r }
