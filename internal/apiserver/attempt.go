package apiserver

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// startTimeout bounds the time that the start waits for writes to the server's own API.
// Admission policies and webhooks of users apply to these writes too, and may refuse or
// delay them. The server must become ready all the same, so that an administrator can
// delete the policy. The server retries the failed writes while it serves.
const startTimeout = 30 * time.Second

// retryStart is the delay between the retries of failed parts of the start.
var retryStart = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 8, Cap: time.Minute}

// attempt is a part of the start that writes to the API of the server.
type attempt struct {
	// name names the part in the log.
	name string
	do   func(ctx context.Context) error
}

// attemptAll tries every part in order, and returns when each was tried once or
// startTimeout is over. It logs the errors, and tries the failed parts again until they
// succeed or ctx ends. It reports whether all parts succeeded on the first try.
func attemptAll(ctx context.Context, parts ...attempt) bool {
	limited, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var failed []attempt
	for _, part := range parts {
		err := part.do(limited)
		if err == nil || ctx.Err() != nil {
			continue
		}
		klog.ErrorS(err, "a part of the start failed, will be tried again while the server serves", "start", part.name)
		failed = append(failed, part)
	}
	if len(failed) == 0 {
		return true
	}
	go retryAll(ctx, failed)
	return false
}

// retryAll tries parts until each has succeeded once, or ctx ends. A part that hangs delays
// the other parts by at most startTimeout per round.
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
				klog.ErrorS(err, "a part of the start failed again, will be tried again", "start", part.name)
				failed = append(failed, part)
			default:
				klog.InfoS("a part of the start succeeded after a retry", "start", part.name)
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
