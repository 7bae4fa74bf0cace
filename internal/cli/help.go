package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"holdfast.dev/holdfast/internal/cli/command"
)

// kubectlName is the command that lists the commands of kubectl, and runs them.
const kubectlName = "kubectl"

// groups are the commands of Holdfast as its help shows them.
var groups = []struct {
	title    string
	commands []string
}{
	{"A server:", []string{"serve", "demo", "envtest"}},
	{"Operate it:", []string{"kubeconfig", "revoke", "backup", "restore", "doctor", "version"}},
	{"Hosts:", []string{"node"}},
	{"Custom resources:", []string{"schema"}},
	{"Configuration:", []string{"series"}},
	{"Field ownership:", []string{"owners", "transfer"}},
	{"Changes of an object:", []string{"history", "undo"}},
	{"Operator packages:", []string{"kudo"}},
	{"Clusters of others:", []string{"guard"}},
	{"Other commands:", []string{kubectlName, "completion", "help"}},
}

// isPlain reports whether the command line is for the plain root: it names a command of
// Holdfast, or asks for the help or the version of the program.
func (c *invocation) isPlain() bool {
	if len(c.args) == 0 {
		return true
	}
	named := func(cmd *cobra.Command) bool { return cmd.Name() == c.args[0] }
	switch c.args[0] {
	case "--help", "-h", "--version":
		return true
	case "help":
		return len(c.args) == 1 || (&invocation{args: c.args[1:], ours: c.ours}).isPlain()
	}
	return slices.ContainsFunc(c.ours, named)
}

func newPlainRoot() *cobra.Command {
	root := &cobra.Command{Use: program, Short: summary, Long: description, Version: version}
	root.SetVersionTemplate(program + " {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		showEmptyDefaults(cmd.Flags())
		help(cmd, args)
	})
	return root
}

// showEmptyDefaults adds the default to the help of each flag that has an empty text as its
// default. The library leaves it out. A help that explains the default stays as it is.
func showEmptyDefaults(flags *pflag.FlagSet) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Value.Type() == "string" && flag.DefValue == "" && !strings.Contains(flag.Usage, "default") {
			flag.Usage += ` (default "")`
		}
	})
}

// addGroups puts the commands of the root into groups. The commands that the root of kubectl
// runs are added for the help only.
func (c *invocation) addGroups(streams Streams) {
	root := c.root
	_, flags := kubectlFlags(streams)
	c.addOwnership(cmdutil.NewFactory(command.Getter{ConfigFlags: flags}))
	root.AddCommand(&cobra.Command{
		Use: kubectlName, Short: "List the commands of kubectl, which work here as well",
		Run: func(*cobra.Command, []string) {},
	})
	root.InitDefaultHelpCmd()
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, name := range group.commands {
			if cmd, _, err := root.Find([]string{name}); err == nil {
				cmd.GroupID = group.title
			}
		}
	}
}

// checkTopic returns an error if the command line asks for the help of a command that does not
// exist. The library prints the help of another command instead, without an error.
func (c *invocation) checkTopic() error {
	if len(c.args) < 2 || c.args[0] != "help" {
		return nil
	}
	found, rest, err := c.root.Find(c.args[1:])
	switch {
	case err != nil:
		return err
	case len(rest) > 0 && found.HasSubCommands():
		return fmt.Errorf("unknown command %q for %q%s", rest[0], found.CommandPath(), similar(found, rest[0], ""))
	}
	return nil
}

// suggestion returns what the user may have meant by an unknown command or flag, as a line of
// its own, or nothing.
func suggestion(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	candidates, name, prefix := cmd, cmd.Flags().Arg(0), ""
	if errors.As(err, &unknown) {
		// Cobra suggests names of commands only, so each flag becomes a command here.
		candidates, name, prefix = &cobra.Command{}, unknown.GetSpecifiedName(), "--"
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Hidden {
				return
			}
			candidates.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
		})
	}
	return similar(candidates, name, prefix)
}

// similar returns a question about the commands below another one that are like an unknown name, or nothing.
func similar(candidates *cobra.Command, name, prefix string) string {
	candidates.SuggestionsMinimumDistance = 2
	found := candidates.SuggestionsFor(name)
	if name == "" || len(found) == 0 {
		return ""
	}
	return "\nDid you mean " + prefix + strings.Join(found, " or "+prefix) + "?"
}
