package kudo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"holdfast.dev/holdfast/cli/kudo/progress"
	"holdfast.dev/holdfast/operator/api"
)

// waiting says whether to wait, and for how long.
type waiting struct {
	wait    bool
	timeout time.Duration
}

func (w *waiting) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&w.wait, "wait", false, "wait until it is done, and show how far it is")
	flags.DurationVar(&w.timeout, "timeout", 5*time.Minute, "how long to wait; 0 is without end")
}

// report says what was written, and shows the run that it started, if asked to
// wait.
func (w *waiting) report(cmd *cobra.Command, s *server, written *api.Instance, said string) error {
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), said); err != nil {
		return err
	}
	return w.follow(cmd.Context(), s, written, cmd.OutOrStdout())
}

// follow shows the run that a write started until it has ended, if asked to wait.
func (w *waiting) follow(ctx context.Context, s *server, written *api.Instance, out io.Writer) error {
	if !w.wait {
		return nil
	}
	run := written.Spec.PlanExecution
	if run.PlanName == "" {
		return fmt.Errorf("instance %s: the server started no plan, there is nothing to wait for", written.Name)
	}
	show := progress.New(out)
	err := w.until(ctx, s, written.Name, nil, func(event watch.Event) (bool, error) {
		instance, ok := event.Object.(*api.Instance)
		if !ok {
			return false, nil
		}
		if event.Type == watch.Deleted || instance.UID != written.UID {
			return false, fmt.Errorf("instance %s was deleted while plan '%s' ran", written.Name, run.PlanName)
		}
		status := instance.Status.PlanStatus[run.PlanName]
		switch now := instance.Spec.PlanExecution; {
		case status.UID == run.UID && (status.Status.Running() || status.Status.Ended()):
			if err := show(status); err != nil {
				return false, err
			}
		case status.UID == "" && status.Status == api.Error && now.UID == run.UID:
			// It could not even begin, and is tried again.
			return false, show(status)
		case now.PlanName != "" && now.UID != run.UID:
			return false, fmt.Errorf("plan '%s' was replaced by another run, of plan '%s'", run.PlanName, now.PlanName)
		default:
			return false, nil
		}
		if status.Status == api.FatalError {
			return false, fmt.Errorf("plan '%s' ended with %s: %s", run.PlanName, status.Status, reason(status))
		}
		return status.Status == api.Complete, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s: plan '%s' is not done and goes on: holdfast kudo plan status %s", w.ended(ctx), run.PlanName, written.Name)
	}
	return err
}

// reason is what a run that failed says, wherever in it that is.
func reason(status api.PlanStatus) string {
	if status.Message != "" {
		return status.Message
	}
	for _, phase := range status.Phases {
		for _, step := range phase.Steps {
			if step.Status == api.FatalError && step.Message != "" {
				return fmt.Sprintf("%s/%s: %s", phase.Name, step.Name, step.Message)
			}
		}
	}
	return "no reason is given"
}

// gone waits until an Instance is no more.
func (w *waiting) gone(ctx context.Context, s *server, instance *api.Instance) error {
	none := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	err := w.until(ctx, s, instance.Name, none, func(event watch.Event) (bool, error) {
		now, ok := event.Object.(*api.Instance)
		return event.Type == watch.Deleted || ok && now.UID != instance.UID, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s: instance %s is not gone yet", w.ended(ctx), instance.Name)
	}
	return err
}

// ended says why waiting came to an end before what it was for.
func (w *waiting) ended(ctx context.Context) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	return fmt.Sprintf("after %s", w.timeout)
}

// until watches one Instance.
func (w *waiting) until(ctx context.Context, s *server, name string, already watchtools.PreconditionFunc, done watchtools.ConditionFunc) error {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	one := cache.NewListWatchFromClient(s, instances, s.namespace, fields.OneTermEqualSelector("metadata.name", name))
	_, err := watchtools.UntilWithSync(ctx, one, &api.Instance{}, already, done)
	return err
}
