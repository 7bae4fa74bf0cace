package series

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kubectl/pkg/polymorphichelpers"

	"holdfast.dev/holdfast/internal/cli/command"
)

// pollInterval is how often --wait reads a workload.
const pollInterval = time.Second

// waitFor prints the progress of a rollout as "kubectl rollout status" does, until it is complete.
func (f *follower) waitFor(ctx context.Context, w *workload) error {
	if restarts, _ := w.restart(); !restarts {
		return nil // there is no rollout to wait for
	}
	viewer, err := polymorphichelpers.StatusViewerFor(w.live.GroupVersionKind().GroupKind())
	if err != nil {
		return command.Unable(fmt.Errorf("%s: %w", w, err))
	}
	last, unreachable := "", error(nil)
	limited, cancel := f.Limit(ctx)
	defer cancel()
	err = wait.PollUntilContextCancel(limited, pollInterval, true, func(ctx context.Context) (bool, error) {
		live, err := w.client(f.server).Get(ctx, w.live.GetName(), metav1.GetOptions{})
		if unreachable = err; err != nil && passes(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		text, done, err := viewer.Status(live, 0)
		if text != last {
			fmt.Fprintf(f.progress, "%s: %s", w, text)
			last = text
		}
		return done, err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return interrupted("%s points to %s, but the command was interrupted before the rollout was complete. It goes on: "+
			"\"kubectl rollout status %s -n %s\" shows it", w, f.to, w, f.namespace)
	case apierrors.IsNotFound(err):
		return refused("%s was deleted before its rollout was complete", w)
	case errors.Is(err, context.DeadlineExceeded) && unreachable != nil:
		err = fmt.Errorf("the rollout is not complete after %s, and the server does not answer: %w", f.Timeout, unreachable)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("the rollout is not complete after %s", f.Timeout)
	}
	return refused("%s: %w; \"holdfast series rollback %s\" points the references back", w, err, f.members.identity)
}

// passes reports whether a read may succeed later, because the server restarts or has too much to do.
func passes(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err)
}
