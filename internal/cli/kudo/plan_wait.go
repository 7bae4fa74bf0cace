package kudo

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/operator/plan"
)

func newWaitCommand() *cobra.Command {
	var conn connection
	wait := waiting{command.Waiting{Wait: true}}
	var who named
	cmd := &cobra.Command{
		Use:   "wait INSTANCE",
		Short: "Wait until the running plan of an instance has ended",
		Long: `Wait until the running plan of an instance has ended, and show how far it is. The
command fails if the plan does. If no plan is running, the plan that ran last counts.`,
		Example: "  holdfast kudo plan wait events",
		Args:    arguments.AtMost("INSTANCE"),
		RunE: conn.withInstance(&who, func(cmd *cobra.Command, s *server, instance *api.Instance) error {
			if instance.RunningPlan() != "" {
				return wait.follow(cmd.Context(), s, instance, cmd.OutOrStdout())
			}
			ran := plan.Recent(instance)
			if len(ran) == 0 {
				return command.Refused(fmt.Errorf("instance %s: no plan has run", instance.Name))
			}
			if ran[0].Status == api.FatalError {
				return failure(ran[0])
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s [%s]\n", ran[0].Name, ran[0].Status)
			return err
		}),
	}
	conn.AddNamespaceFlags(cmd.Flags())
	wait.addTimeoutFlags(cmd.Flags())
	who.addFlags(cmd.Flags())
	return cmd
}
