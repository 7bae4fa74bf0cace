package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/definition/source"
	"holdfast.dev/holdfast/internal/definition/stock"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
)

const compileHelp = `Compile the markers of CustomResourceDefinitions for a stock Kubernetes cluster.

A Kubernetes API server does not know markers such as x-kubernetes-immutable. With
--to cel, the command replaces them by CEL transition rules in the schema. With
--to policy, it writes a ValidatingAdmissionPolicy and a binding for each version
with rules. The compiled rules refuse the updates that this server refuses. Where a
rule cannot do exactly that, a line on stderr names the rule and the difference.

The lines of the annotation holdfast.dev/immutability are compiled too. A condition
(while) becomes a part of the rule. A policy asks the authorizer of the cluster for
the right in unless, guards labels and annotations, and has a rule for DELETE for
no-delete. CEL rules in a schema can do none of these three; the command refuses them
by name.

In both cases the markers move to the annotation holdfast.dev/immutability of the
definition, so that a compiled file can be compiled again, also for the other target.

As on this server, an update may remove an optional parent of an immutable field, and
another may set it again with another value. With --close-escapes the rules refuse
both: an absent parent counts as one without fields.

The command refuses, by field, a marker that CEL cannot express, or whose rule costs
more than Kubernetes allows. Then it writes nothing for that definition, and exits
with 1. Comments of the file are not in the output.`

const compileExamples = `  # CEL rules in the schema
  holdfast schema compile --to cel examples/widgets.yaml

  # A policy, to a cluster
  holdfast schema compile --to policy examples/widgets.yaml | kubectl apply --dry-run=client -o name -f -

  # All definitions below a directory, to a file each in another directory
  holdfast schema compile --to policy --close-escapes examples --output-dir compiled`

// compileRule is the rule of the findings about markers that cannot be compiled.
const compileRule = "not-compilable"

// compiling is one run of the command compile.
type compiling struct {
	options stock.Options
	target  string
	dir     string
	format  string
	version string
}

func newCompileCommand(version string) *cobra.Command {
	c := &compiling{version: version}
	cmd := &cobra.Command{
		Use:     "compile --to cel|policy (FILE | DIRECTORY | PATTERN | -)...",
		Short:   "Compile markers to CEL rules or policies for a stock Kubernetes cluster",
		Long:    compileHelp,
		Example: compileExamples,
		Args:    arguments.AtLeastOne("FILE"),
		RunE:    c.run,
	}
	cmd.Flags().StringVar(&c.target, "to", "", "the target: cel (rules in the schema) or policy (ValidatingAdmissionPolicies)")
	cmd.Flags().StringVar(&c.dir, "output-dir", "", "directory for a file per definition, instead of stdout")
	cmd.Flags().StringVarP(&c.format, "output", "o", "yaml", "output format: yaml or json")
	cmd.Flags().BoolVar(&c.options.CloseEscapes, "close-escapes", false,
		"also refuse to remove an optional parent of a marked field, and to set it again")
	command.TakeFiles(cmd)
	return cmd
}

func (c *compiling) run(cmd *cobra.Command, args []string) error {
	c.options.Target = stock.Target(c.target)
	if c.options.Target != stock.CEL && c.options.Target != stock.Policy {
		return fmt.Errorf("--to %q: must be cel or policy", c.target)
	}
	if err := arguments.Format(c.format, "--output-dir"); err != nil {
		return err
	}
	objects, err := readObjects(cmd, args)
	if err != nil {
		return err
	}
	var results []stock.Result
	report := &finding.Report{
		Noun: "definition", Version: c.version,
		Rules: []finding.Rule{{ID: compileRule, Summary: "CEL cannot express a marker, or Kubernetes does not allow its rule."}},
	}
	files := map[string]bool{}
	for _, o := range objects {
		if !source.IsDefinition(o.Object) {
			continue
		}
		result := stock.Compile(cmd.Context(), o.Object, c.options)
		report.Objects++
		files[o.File] = true
		report.Findings = append(report.Findings, refusals(o.Object, result)...)
		results = append(results, result)
		for _, note := range result.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: %s: %s\n", result.Name, note.Rule, note.Message)
		}
	}
	report.Files = len(files)
	if report.Objects == 0 {
		return fmt.Errorf("no CustomResourceDefinition in %s", strings.Join(args, ", "))
	}
	if err := c.write(cmd, results); err != nil {
		return err
	}
	if len(report.Findings) == 0 {
		return nil
	}
	finding.Sort(report.Findings)
	if err := report.Write(cmd.ErrOrStderr(), finding.Text); err != nil {
		return err
	}
	return command.Refused(errors.New(report.Summary()))
}

// refusals returns the findings of a definition that was not compiled.
func refusals(o manifest.Object, result stock.Result) []finding.Finding {
	var found []finding.Finding
	for _, r := range result.Refusals {
		found = append(found, finding.Finding{
			Rule: compileRule, Severity: finding.Error, File: o.File, Position: o.Locate(r.Path),
			Object: result.Name, Path: r.Path, Message: r.Message, Fix: r.Fix,
		})
	}
	return found
}

// write writes the compiled definitions to stdout or to files.
func (c *compiling) write(cmd *cobra.Command, results []stock.Result) error {
	if c.dir != "" {
		if err := os.MkdirAll(c.dir, 0o755); err != nil {
			return err
		}
	}
	var all []map[string]any
	written := map[string]bool{}
	for _, result := range results {
		if len(result.Objects) == 0 {
			continue
		}
		if c.dir == "" {
			all = append(all, result.Objects...)
			continue
		}
		text, err := c.encode(result.Objects)
		if err != nil {
			return err
		}
		name := filepath.Join(c.dir, result.Name+"."+c.format)
		if written[name] {
			return fmt.Errorf("there are two definitions with the name %s", result.Name)
		}
		written[name] = true
		if err := os.WriteFile(name, text, 0o644); err != nil { //nolint:gosec // definitions are not secret
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	text, err := c.encode(all)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// encode returns objects in the format of -o.
func (c *compiling) encode(objects []map[string]any) ([]byte, error) {
	if c.format == "json" {
		return list(objects)
	}
	return documents(objects)
}

// list returns objects as one list in JSON, which kubectl apply takes.
func list(objects []map[string]any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	return out.Bytes(), err
}

// documents returns objects as YAML documents.
func documents(objects []map[string]any) ([]byte, error) {
	var all [][]byte
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return bytes.Join(all, []byte("---\n")), nil
}
