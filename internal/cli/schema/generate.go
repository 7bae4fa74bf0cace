package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/definition/generate"
	"holdfast.dev/holdfast/internal/finding"
)

const generateHelp = `Write CustomResourceDefinitions from Go types, as controller-gen ` + generate.ControllerTools + ` does.

The packages are patterns of the go command, which must be installed. A kind is a struct
that embeds metav1.TypeMeta and metav1.ObjectMeta; its package has a comment
"+groupName=GROUP". All markers of kubebuilder work. These are added, in the comment of a
field or of a type:

  +immutable            the value cannot change            x-kubernetes-immutable
  +immutable=keys       keys stay, values may change       x-kubernetes-immutable-keys
  +setOnce              the value can be set later, once   x-kubernetes-update
  +additionOnly         keys or items may only be added    x-kubernetes-addition-only
  +deletionOnly         keys or items may only be removed  x-kubernetes-deletion-only
  +noPrune              unknown fields below are kept      x-kubernetes-no-prune
  +normalize=undefined  null, [] and {} become absent      x-kubernetes-normalize

+k8s:update=NoSet,NoUnset,NoModify,NoAddItem,NoRemoveItem of Kubernetes, or a part of this
set, becomes x-kubernetes-update or the marker for the set, and +k8s:immutable becomes
x-kubernetes-immutable. Without these keywords the files are those of controller-gen, byte
for byte. A marker that the server would refuse, and a comment that only looks like a
marker, is an error with its file and line.

With --check nothing is written: the exit code is 1 if a file on disk differs.`

const generateExamples = `  # Write config/crd/bases/harbour.example.com_boats.yaml
  holdfast schema generate ./examples/boats/...

  # In CI: fail if the files are not up to date
  holdfast schema generate --check ./examples/boats/...

  # Print the definitions, and judge them
  holdfast schema generate -o yaml ./examples/boats/... | holdfast schema lint -`

// generating is one run of the command generate.
type generating struct {
	options     generate.Options
	dir, header string
	format      string
	check       bool
	maxDescLen  int
}

func newGenerateCommand() *cobra.Command {
	g := &generating{}
	cmd := &cobra.Command{
		Use:     "generate PACKAGES...",
		Short:   "Write definitions from Go types, with markers about immutability",
		Long:    generateHelp,
		Example: generateExamples,
		Args:    arguments.AtLeastOne("PACKAGES"),
		RunE:    g.run,
	}
	flags := cmd.Flags()
	flags.StringVar(&g.dir, "output-dir", filepath.Join("config", "crd", "bases"), "directory of the files")
	flags.StringVarP(&g.format, "output", "o", "", "print the definitions instead of writing files: yaml or json")
	flags.BoolVar(&g.check, "check", false, "write nothing, and fail if a file differs")
	flags.StringVar(&g.header, "header-file", "", "file with the text at the beginning of each definition, as in controller-gen")
	flags.IntVar(&g.maxDescLen, "max-desc-len", 0, "maximum length of descriptions, as in controller-gen; 0 removes them")
	flags.BoolVar(&g.options.AllowDangerousTypes, "allow-dangerous-types", false, "allow floats, as in controller-gen")
	flags.BoolVar(&g.options.EmbeddedObjectMeta, "generate-embedded-object-meta", false,
		"write the schema of embedded ObjectMeta, as in controller-gen")
	flags.BoolVar(&g.options.IgnoreUnexportedFields, "ignore-unexported-fields", false, "skip unexported fields, as in controller-gen")
	return cmd
}

func (g *generating) run(cmd *cobra.Command, args []string) error {
	g.options.Packages = args
	if cmd.Flags().Changed("max-desc-len") {
		g.options.MaxDescriptionLength = &g.maxDescLen
	}
	if err := g.validate(cmd); err != nil {
		return err
	}
	if g.header != "" {
		text, err := os.ReadFile(g.header)
		if err != nil {
			return err
		}
		g.options.Header = string(text)
	}
	result, err := generate.Run(cmd.Context(), g.options)
	if err != nil {
		return generateError(cmd, err)
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", warning)
	}
	switch {
	case g.format != "":
		return g.print(cmd, result.Files)
	case g.check:
		return g.compare(cmd, result.Files)
	}
	return g.write(cmd, result.Files)
}

// validate checks the flags about the output.
func (g *generating) validate(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("output") {
		return nil
	}
	if err := arguments.Format(g.format, "--output-dir"); err != nil {
		return err
	}
	switch {
	case g.check:
		return errors.New("--check compares files on disk: name their directory with --output-dir, without -o")
	case cmd.Flags().Changed("output-dir"):
		return errors.New("-o prints the definitions, and --output-dir writes files: use one of them")
	}
	return nil
}

// print prints the definitions, as JSON in one list.
func (g *generating) print(cmd *cobra.Command, files []generate.File) error {
	var objects []map[string]any
	for _, file := range files {
		if g.format == "yaml" {
			fmt.Fprintf(cmd.OutOrStdout(), "%s", file.Data)
			continue
		}
		var object map[string]any
		if err := yaml.Unmarshal(file.Data, &object); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		objects = append(objects, object)
	}
	if g.format == "yaml" {
		return nil
	}
	text, err := list(objects)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// generateError returns the error of a run. Each problem in the source is a line.
func generateError(cmd *cobra.Command, err error) error {
	var problems generate.Problems
	switch {
	case errors.As(err, &problems):
		for _, problem := range problems {
			fmt.Fprintln(cmd.ErrOrStderr(), problem)
		}
		return fmt.Errorf("%s in Go source; no file was written", finding.Quantity(len(problems), "error"))
	case errors.Is(err, exec.ErrNotFound) || strings.Contains(err.Error(), exec.ErrNotFound.Error()):
		return fmt.Errorf("the go command finds the packages, and it is not installed: %w", err)
	}
	return err
}

// stale returns the generated files that differ from those on disk, with the old contents.
func (g *generating) stale(files []generate.File) (changed []generate.File, old [][]byte, err error) {
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(g.dir, file.Name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if err != nil || !bytes.Equal(data, file.Data) {
			changed, old = append(changed, file), append(old, data)
		}
	}
	return changed, old, nil
}

// compare prints the differences between the files on disk and the generated ones.
func (g *generating) compare(cmd *cobra.Command, files []generate.File) error {
	changed, old, err := g.stale(files)
	if err != nil {
		return err
	}
	for i, file := range changed {
		name := filepath.Join(g.dir, file.Name)
		diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
			A: slices.Collect(strings.Lines(string(old[i]))), B: slices.Collect(strings.Lines(string(file.Data))),
			FromFile: name, ToFile: name + " as generated", Context: 3,
		})
		if err != nil {
			return err
		}
		fmt.Fprint(cmd.OutOrStdout(), diff)
	}
	if len(changed) > 0 {
		return command.Refused(fmt.Errorf("%d of %s in %s not up to date: run holdfast schema generate",
			len(changed), finding.Quantity(len(files), "file"), g.dir))
	}
	return nil
}

// write writes the files that differ from those on disk.
func (g *generating) write(cmd *cobra.Command, files []generate.File) error {
	changed, _, err := g.stale(files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return err
	}
	for _, file := range changed {
		if err := replaceFile(filepath.Join(g.dir, file.Name), file.Data); err != nil {
			return err
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s in %s, %d written\n", finding.Quantity(len(files), "definition"), g.dir, len(changed))
	return nil
}

// replaceFile writes a file, which may exist.
func replaceFile(name string, data []byte) error {
	if _, err := os.Lstat(name); err == nil {
		return overwrite(name, data)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return err
	}
	return nil
}
