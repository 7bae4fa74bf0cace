package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver"
)

// version is the version of the binary. The linker sets it, see the Makefile.
var version = "dev"

// versions is what the command version prints.
type versions struct {
	Version    string `json:"version"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Kubernetes string `json:"kubernetes"`
}

func newVersionCommand() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, Go's, and the level of the Kubernetes API that is served",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versions{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, apiserver.KubernetesVersion}
			text := fmt.Sprintf("holdfast %s\ngo %s %s\nkubernetes %s\n", v.Version, v.Go, v.Platform, v.Kubernetes)
			switch output {
			case "":
			case "json":
				data, err := json.MarshalIndent(v, "", "  ")
				if err != nil {
					return err
				}
				text = string(data) + "\n"
			case "yaml":
				data, err := yaml.Marshal(v)
				if err != nil {
					return err
				}
				text = string(data)
			default:
				return fmt.Errorf("version: -o %s: must be json or yaml", output)
			}
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml; empty prints lines")
	return cmd
}
