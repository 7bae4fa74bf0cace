package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/apiserver"
)

// version is the version of the binary. The linker sets it, see the Makefile.
var version = "dev"

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, Go's, and the level of the Kubernetes API that is served",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "holdfast %s\ngo %s %s/%s\nkubernetes %s\n",
				version, runtime.Version(), runtime.GOOS, runtime.GOARCH, apiserver.KubernetesVersion)
			return err
		},
	}
}
