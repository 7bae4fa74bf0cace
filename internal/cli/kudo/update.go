package kudo

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
)

func newUpdateCommand() *cobra.Command {
	var conn connection
	var params valueFlags
	var wait waiting
	var who named
	var dry dryRun
	var takeOver []string
	cmd := &cobra.Command{
		Use:   "update INSTANCE",
		Short: "Change the parameters of an instance",
		Long: `Change parameters of an instance. Parameters that you do not name stay as they are.
You may name an immutable parameter with the value that it has, so one file serves
install and update. If an immutable parameter would change, the server refuses the
whole update, and the message names every such parameter.

A plan does only what every user that set one of its values may do. If a user that
set a value lacks a permission or has left, --take-over makes you the author of that
value, which stays as it is. If the last plan ended with FATAL_ERROR, it runs again.`,
		Example: `  holdfast kudo update events -p BROKER_COUNT=5 --wait
  holdfast kudo update events --take-over BROKER_COUNT --wait`,
		Args: arguments.AtMost("INSTANCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := who.only(args)
			if err == nil {
				err = dry.check()
			}
			if err != nil {
				return err
			}
			values, err := params.read(cmd.InOrStdin())
			if err != nil {
				return err
			}
			if len(values) == 0 && len(takeOver) == 0 {
				return errors.New("update: give parameters with -p or -P, or take some over with --take-over")
			}
			s, err := conn.connect()
			if err != nil {
				return err
			}
			update := change{name: "update", sendDecided: true, edit: func(instance *api.Instance) error {
				instance.Spec.Parameters = values.applyTo(instance.Spec.Parameters)
				if len(takeOver) == 0 {
					return nil
				}
				return api.RequestTakeOver(instance, takeOver)
			}}
			if dry.IsSet() {
				return dry.preview(cmd.Context(), s, update, printed{name, cmd.OutOrStdout()})
			}
			judged, err := s.write(cmd.Context(), name, update, nil)
			if err != nil {
				return err
			}
			if judged.decision.Plan == "" {
				wait.Wait = false
			}
			return wait.report(cmd, s, judged.after, fmt.Sprintf("instance %s updated", name))
		},
	}
	conn.AddNamespaceFlags(cmd.Flags())
	who.addFlags(cmd.Flags())
	params.addFlags(cmd.Flags())
	wait.addFlags(cmd.Flags())
	dry.addFlags(cmd)
	cmd.Flags().StringArrayVar(&takeOver, "take-over", nil,
		"a parameter with a value that another user set, of which you become the author; may be given several times")
	return cmd
}
