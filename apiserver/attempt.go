package apiserver

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// Admission policies and webhooks of users apply to the server's own writes too, and may
// refuse them or keep them waiting. The server must start all the same: otherwise nobody
// could delete the policy. So each part of the start has this much time in all, and what
// is not done by then is tried again while the server serves.
const startTimeout = 30 * time.Second

// retryStart is how often a part of the start that failed is tried again.
var retryStart = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 8, Cap: time.Minute}

// attempt is a part of the start that writes to the API of the server.
type attempt struct {
	// name says in the log what could not be done.
	name string
	do   func(ctx context.Context) error
}

// attemptAll tries every part in order, and returns when each was tried once or
// startTimeout is over. It logs the errors, and tries the failed parts again until they
// succeed or ctx ends. It reports whether all succeeded at once.
func attemptAll(ctx context.Context, parts ...attempt) bool {
	tried, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var failed []attempt
	for _, part := range parts {
		err := part.do(tried)
		if err == nil || ctx.Err() != nil {
			continue
		}
		klog.ErrorS(err, "will be tried again while the server serves", "start", part.name)
		failed = append(failed, part)
	}
	if len(failed) == 0 {
		return true
	}
	go retryAll(ctx, failed)
	return false
}

// retryAll tries parts until each has succeeded once, or ctx ends. One that fails does not
// keep the others waiting for longer than startTimeout.
func retryAll(ctx context.Context, parts []attempt) {
	backoff := retryStart
	for len(parts) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff.Step()):
		}
		var failed []attempt
		for _, part := range parts {
			err := part.once(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				klog.ErrorS(err, "will be tried again", "start", part.name)
				failed = append(failed, part)
			default:
				klog.InfoS("done after it was tried again", "start", part.name)
			}
		}
		parts = failed
	}
}

// once tries a part within startTimeout.
func (p attempt) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return p.do(ctx)
}
