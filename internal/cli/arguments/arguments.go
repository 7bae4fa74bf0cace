// Package arguments checks the arguments of a command line, and says in plain words what is wrong
// with them.
//
//	cmd := &cobra.Command{Use: "backup FILE", Args: arguments.Exactly("FILE")}
//
// The names are those in the Use line of the command. The functions are safe for concurrent use.
package arguments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// None refuses every argument. For a command with subcommands, an argument is the name of a
// subcommand that does not exist.
func None(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return fmt.Errorf("unexpected argument %q: the command takes none", args[0])
}

// Exactly demands one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return missing(names[len(args):])
		}
		return tooMany(args, names)
	}
}

// AtMost accepts one argument for each name, and demands none.
func AtMost(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error { return tooMany(args, names) }
}

// AtLeastOne demands one argument, and accepts more of its kind.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return missing([]string{name})
		}
		return nil
	}
}

// Format checks the value of -o, which is yaml or json. Where earlier releases took a path there, flag is the flag
// for the path, such as --output-dir, and the error for a path names it.
func Format(value, flag string) error {
	switch value {
	case "yaml", "json":
		return nil
	case "":
		return errors.New("-o is empty: it must be yaml or json")
	case "-":
		return errors.New("-o -: -o takes a format: write -o yaml to print to stdout")
	}
	return fmt.Errorf("-o %s: -o takes a format, yaml or json: if %s is a path, write %s %s", value, value, flag, value)
}

func missing(names []string) error {
	if len(names) == 1 {
		return fmt.Errorf("the argument %s is missing", names[0])
	}
	return fmt.Errorf("the arguments %s are missing", strings.Join(names, " and "))
}

func tooMany(args, names []string) error {
	if len(args) <= len(names) {
		return nil
	}
	return fmt.Errorf("unexpected argument %q: the command takes only %s", args[len(names)], strings.Join(names, " and "))
}
