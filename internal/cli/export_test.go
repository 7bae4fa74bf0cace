package cli

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/ownership"
)

// StartProgress prints a line about a command every two seconds, until the returned function is
// called.
func StartProgress(out io.Writer, line func() string) func() { return startProgress(out, line) }

// Activities returns what commands do while a user waits for them.
func Activities() map[string]string { return activities }

// ActivityOf returns what a command does while a user waits for it.
func ActivityOf(cmd *cobra.Command) string { return activityOf(cmd) }

// Release moves a field from the entries of server-side apply to the command.
func Release(entries []metav1.ManagedFieldsEntry, path ownership.Path, owners ...string) ([]metav1.ManagedFieldsEntry, error) {
	m := managedFields{entries: entries}
	_, err := m.release(path, owners)
	return m.entries, err
}

// Give moves a field from the entries of imperative commands to a manager of server-side apply.
func Give(entries []metav1.ManagedFieldsEntry, path ownership.Path, manager string) ([]metav1.ManagedFieldsEntry, error) {
	m := managedFields{entries: entries}
	err := m.give(path, metav1.ManagedFieldsEntry{Manager: manager})
	return m.entries, err
}

// ServeFlags returns the names of the flags of serve.
func ServeFlags() []string {
	var names []string
	newServeCommand().Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// Arguments returns the command line of a program.
func Arguments(args []string) []string { return commandLine(args) }
