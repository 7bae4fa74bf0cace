package kudo

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/kudo/progress"
	"holdfast.dev/holdfast/parameters"
)

// waiting holds the flags --wait and --timeout.
type waiting struct{ command.Waiting }

func (w *waiting) addFlags(flags *pflag.FlagSet) {
	w.Waiting.AddFlags(flags, "it is done, and show how far it is")
	w.addSeconds(flags, "wait-time")
}

// addTimeoutFlags adds the flags of a command that always waits.
func (w *waiting) addTimeoutFlags(flags *pflag.FlagSet) {
	w.AddTimeoutFlag(flags)
	w.addSeconds(flags, "wait-time")
}

// addSeconds adds KUDO's name of --timeout, which takes seconds. The help does not have it.
func (w *waiting) addSeconds(flags *pflag.FlagSet, name string) {
	flags.Var((*seconds)(&w.Timeout), name, "how long to wait, in seconds; the same as --timeout")
	flags.Lookup(name).Hidden = true
}

// seconds is a duration that is given as a number of seconds.
type seconds time.Duration

// String implements pflag.Value.
func (s *seconds) String() string { return strconv.FormatInt(int64(time.Duration(*s)/time.Second), 10) }

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	number, err := strconv.ParseUint(text, 10, 31)
	*s = seconds(time.Duration(number) * time.Second)
	return err
}

// Type implements pflag.Value.
func (s *seconds) Type() string { return "seconds" }

// report prints a message about a write. With --wait it then follows the run that the write
// started.
func (w *waiting) report(cmd *cobra.Command, s *server, written *api.Instance, message string) error {
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), message); err != nil {
		return err
	}
	return w.follow(cmd.Context(), s, written, cmd.OutOrStdout())
}

// follow shows the progress of the run that a write started, until it has ended. Without
// --wait it does nothing.
func (w *waiting) follow(ctx context.Context, s *server, written *api.Instance, out io.Writer) error {
	if !w.Wait {
		return nil
	}
	run := written.Spec.PlanExecution
	if run.PlanName == "" {
		return command.Refused(fmt.Errorf("instance %s: the server started no plan, there is nothing to wait for", written.Name))
	}
	show := progress.New(out)
	err := w.watchUntil(ctx, s, written.Name, func(event watch.Event) (bool, error) {
		instance, ok := event.Object.(*api.Instance)
		if !ok {
			return false, nil
		}
		if event.Type == watch.Deleted || instance.UID != written.UID {
			return false, command.Refused(fmt.Errorf("instance %s was deleted while plan '%s' ran", written.Name, run.PlanName))
		}
		status := instance.Status.PlanStatus[run.PlanName]
		switch now := instance.Spec.PlanExecution; {
		case status.UID == run.UID && (status.Status.Running() || status.Status.Ended()):
			if err := show(status); err != nil {
				return false, err
			}
		case status.UID == "" && status.Status == api.Error && now.UID == run.UID:
			// The run could not start; the controller retries it.
			return false, show(status)
		case now.PlanName != "" && now.UID != run.UID:
			return false, command.Refused(fmt.Errorf("plan '%s' was replaced by another run, of plan '%s'", run.PlanName, now.PlanName))
		default:
			return false, nil
		}
		if status.Status == api.FatalError {
			status.Name = run.PlanName
			return false, failure(status)
		}
		return status.Status == api.Complete, nil
	})
	if wait.Interrupted(err) {
		return ended(ctx, fmt.Errorf("%s: plan '%s' is not done and goes on: holdfast kudo plan status %s",
			w.endReason(ctx), run.PlanName, written.Name))
	}
	return err
}

// failure returns the error about a run that failed.
func failure(status api.PlanStatus) error {
	return command.Refused(fmt.Errorf("plan '%s' ended with %s: %s", status.Name, status.Status, reason(status)))
}

// reason returns the message of a failed run, which may be that of a step.
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

// delete deletes an Instance and waits until it no longer exists. It returns the message of a
// cleanup plan that failed, "" if none did. It lists and watches the Instance before the deletion,
// so it sees the result of a short cleanup too. When the server ends the watch, for example
// because it restarts, the function lists and watches again.
func (w *waiting) delete(ctx context.Context, s *server, instance *api.Instance) (failed string, err error) {
	limited, cancel := w.Limit(ctx)
	defer cancel()
	begin := func(found cache.Store) (gone bool, err error) {
		err = s.remove(ctx, instances, instance)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("delete instance %s: %w", instance.Name, err)
		}
		// Without the Instance in the first list, there is no event of its deletion.
		return len(found.List()) == 0, nil
	}
	_, err = watchtools.UntilWithSync(limited, s.watchOne(instance.Name), &api.Instance{}, begin, func(event watch.Event) (bool, error) {
		now, ok := event.Object.(*api.Instance)
		if !ok {
			return false, nil
		}
		// The status may have the result of an earlier run.
		cleanup := now.Status.PlanStatus[parameters.CleanupPlan]
		if cleanup.Status == api.FatalError && cleanup.UID != instance.Status.PlanStatus[parameters.CleanupPlan].UID {
			failed = reason(cleanup)
		}
		return event.Type == watch.Deleted || now.UID != instance.UID, nil
	})
	if wait.Interrupted(err) {
		return "", ended(ctx, fmt.Errorf("%s: instance %s is not gone yet", w.endReason(ctx), instance.Name))
	}
	return failed, err
}

// ended returns the error of a wait that ended early, with its exit code.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return command.Interrupted(err)
	}
	return command.Refused(err)
}

// endReason tells why waiting ended early: an interrupt or the timeout.
func (w *waiting) endReason(ctx context.Context) string {
	if ctx.Err() != nil {
		return "interrupted"
	}
	return fmt.Sprintf("after %s", w.Timeout)
}

// watchUntil watches one Instance until done returns true, an error occurs or the timeout
// ends.
func (w *waiting) watchUntil(ctx context.Context, s *server, name string, done watchtools.ConditionFunc) error {
	ctx, cancel := w.Limit(ctx)
	defer cancel()
	_, err := watchtools.UntilWithSync(ctx, s.watchOne(name), &api.Instance{}, nil, done)
	return err
}

// watchOne lists and watches the Instance with a name.
func (s *server) watchOne(name string) *cache.ListWatch {
	return cache.NewListWatchFromClient(s, instances, s.namespace, fields.OneTermEqualSelector("metadata.name", name))
}
