package schema

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/skeleton"
)

const skeletonHelp = `Print the skeleton of each version of CustomResourceDefinitions.

The skeleton is the structure of a schema: the schema without value validation, with
allOf, anyOf, oneOf and not merged into the fields that have them. The server prunes
objects by it: a field that is not in the skeleton is dropped.`

const skeletonExamples = `  # All versions
  holdfast schema skeleton examples/widgets.yaml

  # One version, as JSON
  holdfast schema skeleton examples/widgets.yaml --version v1 -o json`

func newSkeletonCommand() *cobra.Command {
	var version, output string
	cmd := &cobra.Command{
		Use:     "skeleton (FILE | DIRECTORY | PATTERN | -)...",
		Short:   "Print the structure of schemas, by which the server prunes objects",
		Long:    skeletonHelp,
		Example: skeletonExamples,
		Args:    arguments.AtLeastOne("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "yaml" && output != "json" {
				return fmt.Errorf("output %q: must be yaml or json", output)
			}
			skeletons, err := readSkeletons(cmd, args, version)
			if err != nil {
				return err
			}
			return printSkeletons(cmd, skeletons, output)
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "print this version only")
	cmd.Flags().StringVarP(&output, "output", "o", "yaml", "output format: yaml or json")
	command.TakeFiles(cmd)
	return cmd
}

// versionSkeleton is the skeleton of one version.
type versionSkeleton struct {
	Definition string          `json:"definition"`
	Version    string          `json:"version"`
	Schema     json.RawMessage `json:"schema"`
}

// readSkeletons returns the skeletons of the versions with a schema, all if version is empty.
func readSkeletons(cmd *cobra.Command, args []string, version string) ([]versionSkeleton, error) {
	found, err := readDefinitions(cmd, args)
	if err != nil {
		return nil, err
	}
	skeletons := []versionSkeleton{}
	for _, def := range found.all {
		for i := range def.Spec.Versions {
			v := &def.Spec.Versions[i]
			if version != "" && v.Name != version {
				continue
			}
			path := fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i)
			s, _, err := v.DecodeSchema()
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", at(def.Object, path), path, err)
			}
			text, err := json.Marshal(skeleton.Build(s).Schema())
			if err != nil {
				return nil, err
			}
			skeletons = append(skeletons, versionSkeleton{def.Name, v.Name, text})
		}
	}
	if version != "" && len(skeletons) == 0 {
		return nil, fmt.Errorf("no version %s in %s", version, found.all[0].Name)
	}
	return skeletons, nil
}

func printSkeletons(cmd *cobra.Command, skeletons []versionSkeleton, output string) error {
	out := cmd.OutOrStdout()
	if output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(skeletons)
	}
	for i, s := range skeletons {
		if i > 0 {
			fmt.Fprintln(out, "---")
		}
		text, err := yaml.JSONToYAML(s.Schema)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "# %s, version %s\n%s", s.Definition, s.Version, text)
	}
	return nil
}
