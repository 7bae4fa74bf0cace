package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
)

// envtestNames are the programs that envtest starts.
var envtestNames = []string{"kube-apiserver", "etcd", "kubectl"}

// envtestMark is a file in a folder of holdfast envtest. Its programs may be replaced.
const envtestMark = ".holdfast-envtest"

const envtestHelp = `Create a folder with kube-apiserver, etcd and kubectl, for test suites that use
envtest of controller-runtime, and print its path. All three are links to this program.
If this program is a temporary file, as with "go run", kube-apiserver is a copy of it.

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
  KUBEBUILDER_ASSETS=$(holdfast envtest) go test ./...

  # In its Makefile, in place of setup-envtest
  KUBEBUILDER_ASSETS="$(holdfast envtest use 1.37.x --bin-dir bin -p path)" go test ./...`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			made, err := createEnvtest(dir, "envtest")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), made)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder for the links (default: holdfast/envtest in the user's cache directory)")
	cmd.AddCommand(newEnvtestUseCommand())
	return cmd
}

// createEnvtest creates a folder with the programs and returns its path. Without a folder, it takes one in the cache directory of the
// user.
func createEnvtest(dir, inCache string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the links, name one: %w", err)
		}
		dir = filepath.Join(cache, "holdfast", inCache)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := claimFolder(dir, program); err != nil {
		return "", err
	}
	return dir, linkPrograms(dir, program)
}

// claimFolder marks a folder as one of this command. It refuses a folder that has other programs of these names.
func claimFolder(dir, program string) error {
	mark := filepath.Join(dir, envtestMark)
	if _, err := os.Lstat(mark); err == nil {
		return nil
	}
	for _, name := range envtestNames {
		file := filepath.Join(dir, name)
		_, err := os.Lstat(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		// Earlier versions of this command wrote no mark, and only links.
		target, linkErr := os.Readlink(file)
		if err != nil || linkErr != nil || filepath.Base(target) != filepath.Base(program) {
			return fmt.Errorf("%s is another program, and would be replaced: name another folder, or remove it", file)
		}
	}
	return os.WriteFile(mark, []byte("\"holdfast envtest\" replaces the programs in this folder.\n"), 0o644)
}

// linkPrograms creates links to the program in a folder, one for each name in envtestNames. It
// replaces a file by a rename, because several processes may do it at the same time, and tests may
// use the links meanwhile.
func linkPrograms(dir, program string) error {
	for _, name := range envtestNames {
		link := filepath.Join(dir, name)
		if target, err := os.Readlink(link); err == nil && target == program {
			continue
		}
		temp := filepath.Join(dir, fmt.Sprintf(".%s-%d", name, os.Getpid()))
		create := os.Symlink
		if isTemporary(program) {
			create = copyProgram
		}
		if err := create(program, temp); err != nil {
			return errors.Join(err, removeIfThere(temp))
		}
		if err := os.Rename(temp, link); err != nil {
			return errors.Join(err, removeIfThere(temp))
		}
		if isTemporary(program) {
			program = name // the other names are links to the copy, which is in the same folder
		}
	}
	return nil
}

// isTemporary reports whether a program is removed when it ends, as "go run" does.
func isTemporary(program string) bool {
	temp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		temp = os.TempDir()
	}
	return filepath.IsAbs(program) && strings.HasPrefix(program, filepath.Join(temp, "go-build"))
}

func copyProgram(program, to string) error {
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

func removeIfThere(file string) error {
	if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
