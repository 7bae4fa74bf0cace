package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
)

const pruneHelp = `Show what a server would drop from custom resources.

A server drops each field that the schema does not specify, and each null where the
schema allows none. The output is a diff of the objects, with sorted fields as
"kubectl get -o yaml" prints them. The exit code is 1 if something would be dropped.

With -o text, json, sarif or github the output lists the dropped fields with their
lines; with -o yaml it is the objects without them. In a directory, objects without a
definition are skipped.`

const pruneExamples = `  # A file
  holdfast schema prune --crd examples/widgets.yaml examples/widget.yaml

  # The dropped fields with their lines, for all objects below a directory
  holdfast schema prune --crd examples/widgets.yaml -o text examples`

// pruning is one run of the command prune.
type pruning struct {
	catalog catalog
	output  string
	version string
}

func newPruneCommand(version string) *cobra.Command {
	p := &pruning{version: version}
	cmd := &cobra.Command{
		Use:     "prune --crd FILE (FILE | DIRECTORY | PATTERN | -)...",
		Short:   "Show which fields of custom resources a server would drop",
		Long:    pruneHelp,
		Example: pruneExamples,
		Args:    arguments.AtLeastOne("FILE"),
		RunE:    p.run,
	}
	p.catalog.addFlag(cmd)
	cmd.Flags().StringVarP(&p.output, "output", "o", "diff", "output format: diff, yaml, text, json, sarif or github")
	command.TakeFiles(cmd)
	return cmd
}

func (p *pruning) run(cmd *cobra.Command, args []string) error {
	if p.output != "diff" && p.output != "yaml" {
		if _, err := finding.Parse(p.output); err != nil {
			return fmt.Errorf("output %q: must be diff, yaml, text, json, sarif or github", p.output)
		}
	}
	if err := onlyStdin(p.catalog.args, args); err != nil {
		return err
	}
	if err := p.catalog.load(cmd); err != nil {
		return err
	}
	objects, err := readObjects(cmd, args)
	if err != nil {
		return err
	}
	results, err := p.prune(objects)
	if err != nil {
		return err
	}
	if err := p.print(cmd, results); err != nil {
		return err
	}
	isChanged := func(r pruned) bool { return !reflect.DeepEqual(r.before, r.after) }
	changed, fields := 0, 0
	for _, r := range results {
		if isChanged(r) {
			changed++
		}
		fields += len(r.dropped)
	}
	if changed == 0 {
		return nil
	}
	return command.Refused(fmt.Errorf("a server would change %d of %s and drop %s",
		changed, finding.Quantity(len(results), "object"), finding.Quantity(fields, "field")))
}

// pruned is an object before and after pruning.
type pruned struct {
	object        manifest.Object
	before, after map[string]any
	dropped       []string
}

// prune prunes the objects that have a definition.
func (p *pruning) prune(objects []inputObject) ([]pruned, error) {
	var results []pruned
	for _, o := range objects {
		_, version, err := p.catalog.find(o.Object)
		switch {
		case errors.Is(err, errNoDefinition) && !o.Explicit:
			continue
		case err != nil:
			return nil, err
		}
		result := pruned{object: o.Object}
		if err := utiljson.Unmarshal(o.JSON, &result.before); err != nil {
			return nil, fmt.Errorf("%s: %w", at(o.Object, ""), err)
		}
		result.after = runtime.DeepCopyJSON(result.before)
		if version.Pruned {
			result.dropped = version.Skeleton.PrunePaths(result.after)
		}
		results = append(results, result)
	}
	if len(results) == 0 {
		return nil, errors.New("there is no object of the kinds that --crd defines")
	}
	return results, nil
}

func (p *pruning) print(cmd *cobra.Command, results []pruned) error {
	out := cmd.OutOrStdout()
	switch p.output {
	case "diff":
		for _, r := range results {
			text, err := r.diff()
			if err != nil {
				return err
			}
			fmt.Fprint(out, command.Diff(cmd, out, text))
		}
		return nil
	case "yaml":
		for i, r := range results {
			text, err := yaml.Marshal(r.after)
			if err != nil {
				return err
			}
			if i > 0 {
				fmt.Fprintln(out, "---")
			}
			fmt.Fprintf(out, "%s", text)
		}
		return nil
	}
	report := finding.Report{
		Rules:   []finding.Rule{{ID: plan.DroppedRule, Summary: "The schema does not specify the field, so the server drops it."}},
		Version: p.version, Noun: "object", Objects: len(results),
	}
	files := map[string]bool{}
	for _, r := range results {
		files[r.object.File] = true
		report.Findings = append(report.Findings, r.findings()...)
	}
	report.Files = len(files)
	finding.Sort(report.Findings)
	return report.Write(out, finding.Format(p.output))
}

// diff returns the unified diff of the object, empty if nothing is dropped.
func (r pruned) diff() (string, error) {
	before, err := yaml.Marshal(r.before)
	if err != nil {
		return "", err
	}
	after, err := yaml.Marshal(r.after)
	if err != nil {
		return "", err
	}
	name := r.object.File
	if r.object.Line > 1 || r.object.Base != "" {
		name = fmt.Sprintf("%s (line %d)", name, r.object.Locate("").Line)
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(string(before))), B: slices.Collect(strings.Lines(string(after))),
		FromFile: name, ToFile: name + " as stored", Context: 3,
	})
}

// findings returns a finding for each dropped field.
func (r pruned) findings() []finding.Finding {
	var found []finding.Finding
	for _, path := range r.dropped {
		found = append(found, finding.Finding{
			Rule: plan.DroppedRule, Severity: finding.Warning, File: r.object.File, Position: r.object.Locate(path),
			Object: plan.NameOf(r.after), Path: path, Message: "the schema does not specify this field: the server drops it",
		})
	}
	return found
}
