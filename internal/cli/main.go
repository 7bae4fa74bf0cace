// Package cli holds the commands of the holdfast binary: serve, demo, node, kubeconfig, revoke,
// backup, restore, doctor, envtest, version, completion, kudo, schema, guard and series, and all commands of kubectl. Main runs
// the command line of the process. Run does the same for given arguments and streams, and is
// what tests use.
package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/apiserver/maintenance"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/demo"
	"holdfast.dev/holdfast/internal/cli/doctor"
	"holdfast.dev/holdfast/internal/cli/guard"
	"holdfast.dev/holdfast/internal/cli/kudo"
	"holdfast.dev/holdfast/internal/cli/schema"
	"holdfast.dev/holdfast/internal/cli/series"
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command line of the process and returns its exit code. During a command of
// Holdfast, the first SIGINT or SIGTERM cancels the context of the command, so that it shuts
// down cleanly; the second signal ends the process. During a command of kubectl, the first
// signal ends the process, as in kubectl, because many of its commands ignore their context. Under
// the name etcd, the program is etcd, and Main does not return.
func Main() int {
	if programName(os.Args) == "etcd" {
		serveEtcd(os.Args)
	}
	c := newInvocation(Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, commandLine(os.Args))
	ctx := context.Background()
	if c.isOurs() {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
	}
	err := c.run(ctx)
	if err == nil {
		return command.ExitDone
	}
	// A command that has printed its result may end with an exit code and no message.
	if text := err.Error(); text != "" {
		settings := logSettings{format: formatOf(os.Args)}
		if settings.format != logJSON && command.Code(nil, err) == command.ExitRefused {
			text = command.Refusal(c.root, os.Stderr, text)
		}
		settings.announce(os.Stderr, slog.LevelError, text)
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1 // the exit code of kubectl
}

// commandLine returns the command line without the name of the program. kubectl runs a plugin
// by a name such as kubectl-kudo. Under that name, the program runs its command kudo, and under
// the name kube-apiserver its command serve. kube-apiserver has no controllers of its own and no
// operator packages, so these are off by default under its name. Under kubectl, it prints the version as
// kubectl does. Otherwise it behaves as holdfast under kubectl, kubectl-holdfast and any other name.
func commandLine(args []string) []string {
	if asked, ok := completionOf(programName(args)); ok {
		return slices.Concat(asked, args[1:])
	}
	switch programName(args) {
	case "kubectl-kudo":
		return slices.Concat([]string{"kudo"}, args[1:])
	case kubectlName:
		// Scripts read the version of kubectl in the form that kubectl prints.
		if len(args) > 1 && args[1] == "version" {
			return slices.Concat([]string{kubectlName}, args[1:])
		}
	case "kube-apiserver":
		return slices.Concat([]string{"serve", "--controllers=-*", "--operators=false"}, args[1:])
	}
	return args[1:]
}

// programName returns the name by which the program was called.
func programName(args []string) string { return strings.TrimSuffix(filepath.Base(args[0]), ".exe") }

const (
	program     = "holdfast"
	summary     = "A Kubernetes-compatible control plane in which what must not change, cannot"
	description = `Holdfast serves the Kubernetes API from one binary, with etcd inside it. Stock
kubectl, client-go, controller-runtime and Helm are its clients.

Start a server with "holdfast serve", which prints the path of a kubeconfig, or see
what it protects with "holdfast demo".

Every command of kubectl works too, such as "holdfast get pods", for this server and
any other. "holdfast kubectl" lists them.`
)

// Commands returns the commands of Holdfast without those of kubectl, for the reference.
func Commands() *cobra.Command {
	return newInvocation(Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, nil).root
}

// Run runs one command line. The text of an error is meant for the user.
func Run(ctx context.Context, streams Streams, args []string) error {
	return newInvocation(streams, args).run(ctx)
}

// invocation is one command line.
type invocation struct {
	args []string
	root *cobra.Command
	// ours are the commands that are not from kubectl, and ownership those of them that have the global flags of kubectl and work with its
	// packages.
	ours, ownership []*cobra.Command
	// accepted tells that a command of ours has accepted its arguments and flags, and runs.
	accepted bool
	// stopActivity ends the lines about a command that still works. It is nil before the command
	// runs.
	stopActivity func()
}

// newInvocation returns the command line for args. The commands of Holdfast must not have the
// global flags of kubectl, so there are two root commands. If args name a command of
// Holdfast, or none, the root is a plain one. Otherwise it is the root of kubectl. The commands of
// Holdfast are added to it for the completion of the shell.
func newInvocation(streams Streams, args []string) *invocation {
	c := &invocation{args: args, ours: []*cobra.Command{
		newServeCommand(), demo.New(), newEnvtestCommand(), newNodeCommand(), newKubeconfigCommand(), newRevokeCommand(),
		newBackupCommand(), newRestoreCommand(), doctor.New(version), newVersionCommand(), newCompletionCommand(),
		kudo.New(kudo.Program{Version: version, Logging: setLogging}), schema.New(version),
		guard.New(guard.Program{Version: version, Logging: setLogging}), series.NewCommand(),
	}}
	addCompletions(c.ours...)
	// "holdfast kubectl get" is completed like "holdfast get".
	if len(args) > 2 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) && args[1] == kubectlName {
		c.args = slices.Delete(slices.Clone(args), 1, 2)
	}
	switch {
	case c.isPlain():
		c.root = newPlainRoot()
		c.root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
			c.accepted, c.stopActivity = true, showActivity(cmd)
		}
		c.root.AddCommand(c.ours...)
		c.addGroups(streams)
	case args[0] == kubectlName || args[0] == "help" && args[1] == kubectlName:
		// "help kubectl" becomes "help", and "kubectl get" becomes "get".
		at := slices.Index(args, kubectlName)
		c.args = slices.Delete(slices.Clone(args), at, at+1)
		c.newKubectl(streams)
	default:
		c.newKubectl(streams)
		for _, cmd := range c.ours {
			cmd.PersistentPreRun = func(*cobra.Command, []string) { c.accepted = true }
			cmd.SetFlagErrorFunc(plainFlagError)
		}
		// These commands of Holdfast replace those of kubectl.
		for _, name := range []string{"version", "completion"} {
			if replaced, _, err := c.root.Find([]string{name}); err == nil {
				c.root.RemoveCommand(replaced)
			}
		}
		c.root.AddCommand(c.ours...)
	}
	command.AddColourFlag(c.root)
	_ = c.root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(command.Colours(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	// Main prints the error.
	c.root.SilenceUsage, c.root.SilenceErrors = true, true
	c.root.SetIn(streams.In)
	c.root.SetOut(streams.Out)
	c.root.SetErr(streams.Err)
	// Without arguments, cobra would take those of the process.
	c.root.SetArgs(append([]string{}, c.args...))
	return c
}

// isOurs reports whether the command line runs a command that is not from kubectl, and ends by a signal in its own way.
func (c *invocation) isOurs() bool {
	cmd, _, err := c.root.Find(c.args)
	return err == nil && isBelow(cmd, c.ours)
}

// isBelow reports whether a command is one of others, or below one.
func isBelow(cmd *cobra.Command, others []*cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if slices.Contains(others, cmd) {
			return true
		}
	}
	return false
}

// run runs the command. The error of a command of ours has an exit code. To an error about the command line or the connection to a server,
// run adds what the user can do next.
func (c *invocation) run(ctx context.Context) error {
	if err := c.checkTopic(); err != nil {
		return command.Unable(err)
	}
	cmd, err := c.root.ExecuteContextC(ctx)
	if c.stopActivity != nil {
		c.stopActivity()
	}
	switch {
	case err == nil:
		return nil
	case !isBelow(cmd, c.ours) && !isBelow(cmd, c.ownership) && (cmd.HasParent() || !c.isPlain()):
		return err
	case !c.accepted:
		return command.Unable(fmt.Errorf("%w%s\nSee '%s --help' for usage", err, suggestion(cmd, err), cmd.CommandPath()))
	case runsUntilStopped[pathOf(cmd)] && errors.Is(err, context.Canceled):
		return nil
	case ctx.Err() != nil:
		return interrupted(err)
	}
	return command.Coded(cmd, explained(cmd, err))
}

// plainFlagError returns the error about a flag as it is. The root of kubectl would add its own next step.
func plainFlagError(_ *cobra.Command, err error) error { return err }

// runsUntilStopped are the commands that a signal ends. This is no error.
var runsUntilStopped = map[string]bool{"serve": true, "demo": true, "node": true, "kudo manager": true, "guard serve": true}

// pathOf returns the words of a command after the name of the program.
func pathOf(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), program+" ") }

// interrupted returns the error of a command that a signal ended.
func interrupted(err error) error {
	var coded interface{ ExitCode() int }
	switch {
	case errors.As(err, &coded):
		return err
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	return command.Interrupted(err)
}

// explained adds to an error about the server of a kubeconfig what the user can do.
func explained(cmd *cobra.Command, err error) error {
	switch {
	case errors.Is(err, clientcmd.ErrEmptyConfig):
		return noKubeconfig{err}
	case pathOf(cmd) != "serve" && cmd.Flags().Lookup("kubeconfig") != nil:
		return withNextStep(err)
	}
	return err
}

// withNextStep adds to an error of the connection to a server what the user can do.
func withNextStep(err error) error {
	var authority x509.UnknownAuthorityError
	var elsewhere interface{ Elsewhere() }
	switch {
	case errors.As(err, &elsewhere):
		// It is about another server, such as that of a package.
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: start that server, or name the kubeconfig of another one with --kubeconfig", err)
	case errors.As(err, &authority):
		return fmt.Errorf("%w: the kubeconfig belongs to another server; use the one that this server printed at its start", err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), maintenance.BackupPath):
		return fmt.Errorf("%w: only an administrator can make a backup: use the admin.kubeconfig in the data directory of the server, or stop the "+
			"server and name that directory with --data-dir", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: the credential in the kubeconfig is expired, revoked or of another server; an administrator makes a new "+
			"one with \"holdfast kubeconfig\"", err)
	}
	return err
}

// noKubeconfig is the error of client-go about a missing kubeconfig, with a text for the user
// of this program: the text of client-go proposes the variable KUBERNETES_MASTER.
type noKubeconfig struct{ cause error }

func (noKubeconfig) Error() string {
	return `no kubeconfig in $KUBECONFIG or ~/.kube/config: set KUBECONFIG to the file that "holdfast serve" prints, or use --kubeconfig`
}

// Unwrap returns the error of client-go.
func (e noKubeconfig) Unwrap() error { return e.cause }
