package command

import (
	"slices"

	"github.com/spf13/cobra"
)

// globalMark marks the commands with the global flags of kubectl.
const globalMark = "global flags of kubectl"

// MarkGlobal marks a command that has the global flags of kubectl when it runs: --kubeconfig, --context, -n and others.
func MarkGlobal(cmd *cobra.Command) { cmd.Annotations = map[string]string{globalMark: ""} }

// Has reports whether a command has a flag in sight of the user, its own or one of kubectl.
func Has(cmd *cobra.Command, flag string) bool {
	if _, global := cmd.Annotations[globalMark]; global && slices.Contains([]string{"kubeconfig", "context", "namespace"}, flag) {
		return true
	}
	found := cmd.Flags().Lookup(flag)
	return found != nil && !found.Hidden
}
