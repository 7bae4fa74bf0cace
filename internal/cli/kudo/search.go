package kudo

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/operator/repo"
)

func newSearchCommand() *cobra.Command {
	var from source
	var format output
	var all bool
	cmd := &cobra.Command{
		Use:   "search [WORD]",
		Short: "Search a repository for packages",
		Long: `Search a repository for packages with a word in their name or description; without
a word, list all packages. The command shows the newest version of each package.`,
		Example: `  holdfast kudo search kafka
  holdfast kudo search --repo ./repository/index.yaml --all-versions`,
		Args: arguments.AtMost("WORD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := from.index(cmd.Context())
			if err != nil {
				return err
			}
			word := ""
			if len(args) == 1 {
				word = args[0]
			}
			found := index.Search(word)
			if !all {
				found = slices.CompactFunc(found, func(a, b repo.Entry) bool { return a.Name == b.Name })
			}
			if len(found) == 0 {
				return command.Refused(fmt.Errorf("there is no package with %q in its name or description", word))
			}
			if format != "" {
				return format.print(cmd.OutOrStdout(), found)
			}
			rows := [][]string{{"NAME", "OPERATOR VERSION", "APP VERSION", "DESCRIPTION"}}
			for _, entry := range found {
				rows = append(rows, []string{entry.Name, entry.OperatorVersion, entry.AppVersion, cell(entry.Description)})
			}
			return table(cmd.OutOrStdout(), rows)
		},
	}
	from.addRepository(cmd.Flags())
	format.addFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&all, "all-versions", "a", false, "show every version")
	return cmd
}
