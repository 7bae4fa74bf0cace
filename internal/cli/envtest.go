package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

// envtestNames are the programs that envtest starts.
var envtestNames = []string{"kube-apiserver", "etcd", "kubectl"}

const envtestHelp = `Create a folder with kube-apiserver, etcd and kubectl, for test suites that use
envtest of controller-runtime, and print its path. All three are links to this program.

Under the name kube-apiserver, it runs no controllers and no operator packages, like
the real kube-apiserver.`

func newEnvtestCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "envtest",
		Short: "Create a folder with kube-apiserver, etcd and kubectl for test suites",
		Long:  envtestHelp,
		Args:  arguments.None,
		Example: `  # Run the tests of a kubebuilder project
  KUBEBUILDER_ASSETS=$(holdfast envtest) go test ./...`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program: %w", err)
			}
			if dir == "" {
				cache, err := os.UserCacheDir()
				if err != nil {
					return fmt.Errorf("no folder for the links, name one with --dir: %w", err)
				}
				dir = filepath.Join(cache, "holdfast", "envtest")
			}
			if dir, err = filepath.Abs(dir); err != nil {
				return err
			}
			if err := linkPrograms(dir, program); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder for the links (default: holdfast/envtest in the user's cache directory)")
	return cmd
}

// linkPrograms creates links to the program in a folder, one for each name in envtestNames. It
// replaces a link by a rename, because several processes may do it at the same time, and tests may
// use the links meanwhile.
func linkPrograms(dir, program string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range envtestNames {
		link := filepath.Join(dir, name)
		if target, err := os.Readlink(link); err == nil && target == program {
			continue
		}
		temp := filepath.Join(dir, fmt.Sprintf(".%s-%d", name, os.Getpid()))
		if err := os.Symlink(program, temp); err != nil {
			return err
		}
		if err := os.Rename(temp, link); err != nil {
			return err
		}
	}
	return nil
}
