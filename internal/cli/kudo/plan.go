package kudo

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/kudo/progress"
	"holdfast.dev/holdfast/internal/operator/plan"
)

func newPlanCommand() *cobra.Command {
	return group("plan", "Look at the plans of an instance, and run one",
		newStatusCommand(), newWaitCommand(), newTriggerCommand(), newCancelCommand(), newHistoryCommand())
}

func newStatusCommand() *cobra.Command {
	var conn connection
	var wait waiting
	var who named
	var format output
	cmd := &cobra.Command{
		Use:     "status INSTANCE",
		Short:   "Show how far the plans of an instance are",
		Long:    "Show how far the plans of an instance are. With --wait, the command follows the plan that runs.",
		Example: "  holdfast kudo plan status events",
		Args:    arguments.AtMost("INSTANCE"),
		RunE: conn.withInstance(&who, func(cmd *cobra.Command, s *server, instance *api.Instance) error {
			if wait.Wait && instance.RunningPlan() != "" {
				return wait.follow(cmd.Context(), s, instance, cmd.OutOrStdout())
			}
			version, err := s.version(cmd.Context(), instance.VersionKey())
			if err != nil {
				return err
			}
			known := instance.Status.PlanStatus
			if version != nil {
				known = plan.AllStatuses(version.Spec.Plans, known)
			}
			if format != "" {
				return format.print(cmd.OutOrStdout(), known)
			}
			for _, name := range slices.Sorted(maps.Keys(known)) {
				status := known[name]
				status.Name = name
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(progress.Tree(status), "\n")); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	conn.AddNamespaceFlags(cmd.Flags())
	wait.addFlags(cmd.Flags())
	who.addFlags(cmd.Flags())
	format.addFlags(cmd.Flags())
	return cmd
}

func newTriggerCommand() *cobra.Command {
	var conn connection
	var wait waiting
	var who named
	var planName string
	var dryRun command.DryRun
	cmd := &cobra.Command{
		Use:     "trigger INSTANCE PLAN",
		Short:   "Run a plan of an instance",
		Example: "  holdfast kudo plan trigger events backup --wait",
		Args:    arguments.AtMost("INSTANCE", "PLAN"),
		RunE: conn.withServer(func(cmd *cobra.Command, s *server, args []string) error {
			name, others, err := who.take(args)
			if err != nil {
				return err
			}
			if planName != "" {
				others = append([]string{planName}, others...)
			}
			if len(others) != 1 {
				return errors.New("give the name of one plan, as an argument or with --name")
			}
			trigger := change{name: "plan", edit: func(instance *api.Instance) error {
				instance.Spec.PlanExecution = api.PlanExecution{PlanName: others[0]}
				return nil
			}}
			s.dryRun = dryRun
			judged, err := s.write(cmd.Context(), name, trigger, nil)
			if err != nil {
				return err
			}
			wait.Wait = wait.Wait && !dryRun.IsSet()
			return wait.report(cmd, s, judged.after, fmt.Sprintf("plan %s of instance %s triggered%s", others[0], name, dryRun.Suffix()))
		}),
	}
	conn.AddNamespaceFlags(cmd.Flags())
	wait.addFlags(cmd.Flags())
	who.addFlags(cmd.Flags())
	dryRun.AddFlag(cmd.Flags())
	cmd.Flags().StringVar(&planName, "name", "", "name of the plan, instead of the argument")
	return cmd
}

func newCancelCommand() *cobra.Command {
	var conn connection
	var who named
	var dryRun command.DryRun
	cmd := &cobra.Command{
		Use:   "cancel INSTANCE",
		Short: "End the running plan of an instance",
		Long: `End the running plan of an instance. The plan is then in state FATAL_ERROR, and the
instance can be updated again. What the plan has done so far stays.`,
		Example: "  holdfast kudo plan cancel events",
		Args:    arguments.AtMost("INSTANCE"),
		RunE: conn.withName(&who, func(cmd *cobra.Command, s *server, name string) error {
			var cancelled string
			cancel := change{name: "cancel", edit: func(instance *api.Instance) error {
				if cancelled = instance.RunningPlan(); cancelled == "" {
					return command.Refused(fmt.Errorf("instance %s: no plan is running", instance.Name))
				}
				instance.Spec.PlanExecution = api.PlanExecution{UID: instance.Spec.PlanExecution.UID, Status: api.FatalError}
				return nil
			}}
			s.dryRun = dryRun
			if _, err := s.write(cmd.Context(), name, cancel, nil); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "plan %s of instance %s cancelled%s\n", cancelled, name, dryRun.Suffix())
			return err
		}),
	}
	conn.AddNamespaceFlags(cmd.Flags())
	dryRun.AddFlag(cmd.Flags())
	who.addFlags(cmd.Flags())
	return cmd
}

func newHistoryCommand() *cobra.Command {
	var conn connection
	var who named
	var format output
	show := conn.withInstance(&who, func(cmd *cobra.Command, _ *server, instance *api.Instance) error {
		return printHistory(cmd.OutOrStdout(), instance, format)
	})
	cmd := &cobra.Command{
		Use:     "history INSTANCE",
		Short:   "List the last run of each plan, and the versions an instance had",
		Example: "  holdfast kudo plan history events",
		Args:    arguments.AtMost("INSTANCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if who.instance != "" {
				args = nil // with --instance, KUDO accepts an operator version and does not use it
			}
			return show(cmd, args)
		},
	}
	conn.AddNamespaceFlags(cmd.Flags())
	who.addFlags(cmd.Flags())
	format.addFlags(cmd.Flags())
	return cmd
}

// history is what plan history prints with -o.
type history struct {
	OperatorVersion string           `json:"operatorVersion"`
	Plans           []api.PlanStatus `json:"plans"`
	// Earlier are the versions that the Instance had before, oldest first.
	Earlier []api.Record `json:"earlier"`
}

// printHistory prints the last run of each plan of an Instance, and the versions that it had.
func printHistory(out io.Writer, instance *api.Instance, format output) error {
	records, err := api.Records(instance)
	if err != nil {
		return fmt.Errorf("instance %s: %w", instance.Name, err)
	}
	if format != "" {
		return format.print(out, history{instance.VersionKey(), append([]api.PlanStatus{}, plan.Recent(instance)...), append([]api.Record{}, records...)})
	}
	rows := [][]string{{"PLAN", "STATUS", "LAST UPDATED", "MESSAGE"}}
	for _, status := range plan.Recent(instance) {
		when := "-"
		if status.LastUpdatedTimestamp != nil {
			when = status.LastUpdatedTimestamp.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{status.Name, string(status.Status), when, oneLine(status.Message)})
	}
	if err := table(out, rows); err != nil {
		return err
	}
	versions := [][]string{{"OPERATOR VERSION", "PARAMETERS"}, {instance.VersionKey(), "now"}}
	for _, record := range slices.Backward(records) {
		versions = append(versions, []string{record.OperatorVersion, fmt.Sprintf("%d recorded", len(record.Parameters))})
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return table(out, versions)
}
