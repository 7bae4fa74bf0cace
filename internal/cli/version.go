package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/output"
)

// linkedVersion is the version of the binary, and linkedCommit the commit that it is built
// from. The linker sets them, see the Makefile.
var linkedVersion, linkedCommit string

// version is the version of the binary: the one that the linker has set, or the version of the
// module in a binary that "go install" has built.
var version = cmp.Or(linkedVersion, moduleVersion(), "dev")

// moduleVersion returns the version that Go records in a binary, if it has one.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}

// revision returns what identifies the source of a binary: its commit, or the version of its module. It is
// empty if the binary was built from files that were changed after the commit.
func revision(version, source string) string {
	if strings.Contains(version, "dirty") || strings.Contains(source, "dirty") {
		return ""
	}
	return source
}

// versions is what the command version prints.
type versions struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes"`
}

func newVersionCommand() *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program, of Go and of the Kubernetes API",
		Example: `  holdfast version
  holdfast version -o json`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{
				Version: version, Commit: linkedCommit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
				Kubernetes: apiserver.KubernetesVersion,
			}
			text := fmt.Sprintf("holdfast %s\n", v.Version)
			if v.Commit != "" {
				text += fmt.Sprintf("commit %s\n", v.Commit)
			}
			text += fmt.Sprintf("go %s %s\nkubernetes %s\n", v.Go, v.Platform, v.Kubernetes)
			if format != "" {
				return format.Print(cmd.OutOrStdout(), v)
			}
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	format.AddFlag(cmd)
	return cmd
}
