package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/cli/arguments"
)

const envtestUseHelp = `Create the folder with the command line of setup-envtest, which kubebuilder calls. The
folder is k8s/VERSION-OS-ARCH below --bin-dir.

The version is that of the Kubernetes API in the form of setup-envtest: 1.37.2, 1.37.x, 1.x,
1.37.x!, latest. For an older version, the command says on stderr which one it serves.
Options about downloads have no effect, because there is nothing to download.`

func newEnvtestUseCommand() *cobra.Command {
	var binDir, form string
	cmd := &cobra.Command{
		Use:     "use [VERSION]",
		Short:   "Create the folder with the command line of setup-envtest",
		Long:    envtestUseHelp,
		Args:    arguments.AtMost("VERSION"),
		Example: `  holdfast envtest use 1.37.x -p path --bin-dir ./bin`,
		RunE: func(cmd *cobra.Command, args []string) error {
			serves := strings.TrimPrefix(apiserver.KubernetesVersion, "v")
			if len(args) == 1 {
				if err := checkEnvtestVersion(cmd.ErrOrStderr(), args[0], serves); err != nil {
					return err
				}
			}
			below := fmt.Sprintf("%s-%s-%s", serves, runtime.GOOS, runtime.GOARCH)
			dir := ""
			if binDir != "" {
				dir = filepath.Join(binDir, "k8s", below)
			}
			made, err := createEnvtest(dir, filepath.Join("envtest", below))
			if err != nil {
				return err
			}
			switch form {
			case "path":
				_, err = fmt.Fprint(cmd.OutOrStdout(), made)
			case "env":
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "export KUBEBUILDER_ASSETS='%s'\n", made)
			case "overview":
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Version: %s\nOS/Arch: %s/%s\nPath: %s\n", serves, runtime.GOOS, runtime.GOARCH, made)
			default:
				err = fmt.Errorf("--print %q: must be path, env or overview", form)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&binDir, "bin-dir", "", "folder below which the programs are put (default: holdfast/envtest in the user's cache directory)")
	flags.StringVarP(&form, "print", "p", "overview", "what to print: path, env or overview")
	const without = "a flag of setup-envtest, without effect"
	flags.BoolP("installed-only", "i", false, without)
	for _, name := range []string{"force", "use-env", "verify"} {
		flags.Bool(name, false, without)
	}
	flags.StringP("verbosity", "v", "", without)
	for _, name := range []string{"os", "arch", "index"} {
		flags.String(name, "", without)
	}
	flags.VisitAll(func(flag *pflag.Flag) { flag.Hidden = flag.Usage == without })
	return cmd
}

// checkEnvtestVersion refuses a version that this program does not serve yet. It says so if it serves a newer one.
func checkEnvtestVersion(stderr io.Writer, wanted, serves string) error {
	text := strings.TrimSuffix(strings.TrimPrefix(wanted, "v"), "!")
	if text == "latest" {
		return nil
	}
	parts := strings.Split(text, ".")
	own := strings.Split(serves, ".")
	same := true
	for i, part := range parts {
		switch {
		case part == "x" || part == "X" || part == "*":
			parts[i] = "0"
		case i < len(own) && part != own[i]:
			same = false
		}
	}
	for len(parts) < len(own) {
		parts = append(parts, "0")
	}
	parsed, err := utilversion.ParseGeneric(strings.Join(parts, "."))
	if err != nil {
		return fmt.Errorf("version %q: must be a version of Kubernetes, such as 1.37.2, 1.37.x or latest", wanted)
	}
	if utilversion.MustParseGeneric(serves).LessThan(parsed) {
		return fmt.Errorf("version %q: this program serves the API of Kubernetes %s", wanted, serves)
	}
	if !same {
		_, err = fmt.Fprintf(stderr, "Holdfast serves the API of Kubernetes %s, not %s.\n", serves, wanted)
	}
	return err
}
