package kudo

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/operator/api"
)

func newGetCommand() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "get [instances|operators|operatorversions]",
		Short: "List what is installed",
		Long: `List the instances of a namespace, with the state of the plan that ran last; or its
operators, or their versions.`,
		ValidArgs: []string{instances, operators, operatorVersions},
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		RunE: conn.withServer(func(cmd *cobra.Command, s *server, args []string) error {
			what := instances
			if len(args) == 1 {
				what = args[0]
			}
			rows, err := s.rows(cmd.Context(), what)
			if err != nil {
				return err
			}
			if len(rows) == 1 {
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "no %s in namespace %s\n", what, s.namespace)
				return err
			}
			return table(cmd.OutOrStdout(), rows)
		}),
	}
	conn.addFlags(cmd.Flags())
	return cmd
}

// rows returns the table of a resource, with its header.
func (s *server) rows(ctx context.Context, what string) ([][]string, error) {
	switch what {
	case operators:
		var list api.OperatorList
		err := s.list(ctx, what, &list)
		rows := [][]string{{"NAME", "DESCRIPTION"}}
		for i := range list.Items {
			rows = append(rows, []string{list.Items[i].Name, cell(list.Items[i].Spec.Description)})
		}
		return rows, err
	case operatorVersions:
		var list api.OperatorVersionList
		err := s.list(ctx, what, &list)
		rows := [][]string{{"NAME", "OPERATOR", "OPERATOR VERSION", "APP VERSION"}}
		for i := range list.Items {
			spec := list.Items[i].Spec
			rows = append(rows, []string{list.Items[i].Name, spec.Operator.Name, spec.Version, spec.AppVersion})
		}
		return rows, err
	default:
		var list api.InstanceList
		err := s.list(ctx, what, &list)
		rows := [][]string{{"NAME", "OPERATOR VERSION", "PLAN", "STATUS"}}
		for i := range list.Items {
			plan, state := "-", string(api.NeverRun)
			if last := recent(&list.Items[i]); len(last) > 0 {
				plan, state = last[0].Name, string(last[0].Status)
			}
			// A requested plan may not have a status yet.
			requested := list.Items[i].RunningPlan()
			if requested != "" && (requested != plan || strings.HasPrefix(state, "NEVER")) {
				plan, state = requested, string(api.Pending)
			}
			rows = append(rows, []string{list.Items[i].Name, list.Items[i].VersionKey(), plan, state})
		}
		return rows, err
	}
}
