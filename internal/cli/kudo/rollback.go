package kudo

import (
	"fmt"
	"maps"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

func newRollbackCommand() *cobra.Command {
	var conn connection
	var wait waiting
	var who named
	var dry dryRun
	cmd := &cobra.Command{
		Use:   "rollback INSTANCE",
		Short: "Take an instance back to the version it had before",
		Long: `Take an instance back to the version it had before its last upgrade, with the
values it had then. A parameter that is immutable in both versions keeps its value.`,
		Example: `  holdfast kudo rollback events --dry-run
  holdfast kudo rollback events --wait`,
		Args: arguments.AtMost("INSTANCE"),
		RunE: conn.withName(&who, func(cmd *cobra.Command, s *server, name string) error {
			if err := dry.check(); err != nil {
				return err
			}
			wanted := change{name: "rollback", edit: requestRollback}
			if dry.IsSet() {
				return dry.preview(cmd.Context(), s, wanted, printed{name, cmd.OutOrStdout()})
			}
			judged, err := s.write(cmd.Context(), name, wanted, nil)
			if err != nil {
				return err
			}
			version := judged.after.VersionKey()
			return wait.report(cmd, s, judged.after, fmt.Sprintf("instance %s rolled back to %s", name, version))
		}),
	}
	conn.AddNamespaceFlags(cmd.Flags())
	who.addFlags(cmd.Flags())
	wait.addFlags(cmd.Flags())
	dry.addFlags(cmd)
	return cmd
}

// requestRollback changes an Instance to the last recorded version and its values.
func requestRollback(instance *api.Instance) error {
	records, err := api.Records(instance)
	if err != nil {
		return fmt.Errorf("instance %s: %w", instance.Name, err)
	}
	if len(records) == 0 {
		return command.Refused(fmt.Errorf("instance %s was not upgraded: no version is recorded to roll back to", instance.Name))
	}
	last := records[len(records)-1]
	instance.SetVersionKey(last.OperatorVersion)
	instance.Spec.Parameters = maps.Clone(last.Parameters)
	api.RequestRollback(instance, last.OperatorVersion)
	return nil
}
