package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/logs"
	kubectl "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	kubectlversion "k8s.io/kubectl/pkg/cmd/version"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/history"
	_ "holdfast.dev/holdfast/internal/cli/language" // loads the translations of kubectl only if they are needed
	"holdfast.dev/holdfast/internal/cli/owners"
	"holdfast.dev/holdfast/internal/cli/ownershipcheck"
)

const kubectlHelp = `The commands of kubectl, for this server and any other. They report fields that they
overwrite, see "holdfast owners --help".

"holdfast help" lists the other commands of Holdfast.`

// kubectlFlags returns the streams and the global flags of kubectl.
func kubectlFlags(streams Streams) (genericiooptions.IOStreams, *genericclioptions.ConfigFlags) {
	out := genericiooptions.IOStreams{In: streams.In, Out: streams.Out, ErrOut: streams.Err}
	return out, genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().
		WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(out)
}

// clientVersion writes the version of the Kubernetes API in place of the version of kubectl, which only the build of Kubernetes sets.
type clientVersion struct{ io.Writer }

// Write implements io.Writer.
func (w clientVersion) Write(text []byte) (int, error) {
	major, minor, _ := strings.Cut(strings.TrimPrefix(apiserver.KubernetesVersion, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	set := strings.NewReplacer("v0.0.0-master+$Format:%H$", apiserver.KubernetesVersion, "$Format:%H$", "",
		`"major": ""`, `"major": "`+major+`"`, `"minor": ""`, `"minor": "`+minor+`"`,
		`major: ""`, `major: "`+major+`"`, `minor: ""`, `minor: "`+minor+`"`)
	if _, err := set.WriteString(w.Writer, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// newKubectl makes the root command that of kubectl under the name holdfast, with the commands
// owners, transfer, history and undo added, the flag --force for edit, the flag --plan for diff, and --replace for apply. It needs
// the arguments because the preferences of kubectl (kuberc) may change them.
func (c *invocation) newKubectl(streams Streams) {
	out, flags := kubectlFlags(streams)
	checker := ownershipcheck.New()
	flags.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		checker.Wrap(config)
		return config
	})
	root := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
		Arguments: slices.Concat([]string{program}, c.args), ConfigFlags: flags, IOStreams: out,
	})
	// The main function of kubectl adds -v, --vmodule and --log-flush-frequency to its root
	// command; NewKubectlCommand does not.
	logs.AddFlags(root.PersistentFlags())
	root.Use = program
	root.Short, root.Long = summary, kubectlHelp
	if edit, _, err := root.Find([]string{"edit"}); err == nil {
		edit.Flags().BoolVar(&checker.Force, "force", false, "Change fields that kubectl apply owns.")
	}
	factory := cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(flags))
	ours := cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(command.Getter{ConfigFlags: flags}))
	if diff, _, err := root.Find([]string{"diff"}); err == nil {
		addPlan(diff, ours)
	}
	if found, _, err := root.Find([]string{"apply"}); err == nil {
		addReplace(found, ours)
	}
	if found, _, err := root.Find([]string{"version"}); err == nil {
		root.RemoveCommand(found)
		printed := out
		printed.Out = clientVersion{out.Out}
		root.AddCommand(kubectlversion.NewCmdVersion(factory, printed))
	}
	c.root = root
	c.addOwnership(ours)
}

// addOwnership adds the commands owners, transfer, history and undo to the root command. Their factory connects to the server.
func (c *invocation) addOwnership(factory cmdutil.Factory) {
	c.ownership = []*cobra.Command{
		owners.NewCommand(factory), owners.NewTransferCommand(factory), history.NewCommand(factory), history.NewUndoCommand(factory),
	}
	for _, cmd := range c.ownership {
		cmd.PreRun = func(*cobra.Command, []string) { c.accepted = true }
		command.MarkGlobal(cmd)
		cmd.SetFlagErrorFunc(plainFlagError)
	}
	addCompletions(c.ownership...)
	c.root.AddCommand(c.ownership...)
}
