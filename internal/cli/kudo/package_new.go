package kudo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
)

// The files of a new package: a small one that can be installed, with one immutable and one
// mutable parameter.
const (
	newOperator = `apiVersion: kudo.dev/v1beta1
name: NAME
operatorVersion: 0.1.0
appVersion: 1.0.0
tasks:
- name: app
  kind: Apply
  spec:
    resources:
    - config.yaml
plans:
  deploy:
    strategy: serial
    phases:
    - name: app
      strategy: serial
      steps:
      - name: app
        tasks:
        - app
`
	newParams = `apiVersion: kudo.dev/v1beta1
parameters:
- name: CLUSTER
  description: Name of the cluster. It is written into the data, so it never changes.
  default: main
  immutable: true
- name: GREETING
  description: What the app says.
  default: Hello
`
	newTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Name }}-config
data:
  cluster: {{ .Params.CLUSTER | quote }}
  greeting: {{ .Params.GREETING | quote }}
`
)

func newPackageNewCommand() *cobra.Command {
	var overwrite bool
	cmd := &cobra.Command{
		Use:   "new FOLDER",
		Short: "Begin a package in a new folder",
		Long: `Begin a package in a new folder, whose last part is its name. It can be installed
as it is: a ConfigMap with one parameter that is immutable and one that is not.`,
		Example: "  holdfast kudo package new ./greeter",
		Args:    arguments.Exactly("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := filepath.Clean(args[0])
			name := filepath.Base(folder)
			if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
				return fmt.Errorf("%q is no name for a package: %s", name, strings.Join(wrong, "; "))
			}
			// An existing folder is not overwritten by mistake.
			if _, err := os.Stat(folder); err == nil && !overwrite {
				return command.Refused(fmt.Errorf("%s is there already", folder))
			}
			if err := errors.Join(
				write(filepath.Join(folder, "operator.yaml"), strings.ReplaceAll(newOperator, "NAME", name)),
				write(filepath.Join(folder, "params.yaml"), newParams),
				write(filepath.Join(folder, "templates", "config.yaml"), newTemplate),
			); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "package %s is in %s\n", name, folder)
			return err
		},
	}
	cmd.Flags().BoolVarP(&overwrite, "overwrite", "w", false, "write into a folder that exists")
	return cmd
}

// write writes a file and creates its folder.
func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
