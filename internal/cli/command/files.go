package command

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
)

// TakeFiles lets a command whose arguments are files take them with -f too, as kubectl does. The files of -f come first.
func TakeFiles(cmd *cobra.Command) {
	var names []string
	cmd.Flags().StringSliceVarP(&names, "filename", "f", nil, "a file, a directory, a pattern, or - for stdin, as an argument is; may be given several times")
	check, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(names) > 0 && cmd.ArgsLenAtDash() >= 0:
			return errors.New("-f does not go with --: name the paths after it")
		case check == nil:
			return nil
		}
		return check(cmd, slices.Concat(names, args))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, slices.Concat(names, args)) }
}
