package kudo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/cli/difference"
	"holdfast.dev/holdfast/parameters"
)

// dryRun holds the flags --dry-run and --output.
type dryRun struct {
	command.DryRun
	format output
	cmd    *cobra.Command
}

func (d *dryRun) addFlags(cmd *cobra.Command) {
	d.cmd = cmd
	flags := cmd.Flags()
	d.AddFlag(flags)
	flags.StringVarP((*string)(&d.format), "output", "o", "", "with --dry-run: json or yaml, instead of text for people")
}

// check checks that the flags go together.
func (d *dryRun) check() error {
	if d.format != "" && !d.IsSet() {
		return errors.New("--output goes with --dry-run")
	}
	return nil
}

// preview is what a change of an Instance to another version would do.
type preview struct {
	Instance string `json:"instance"`
	From     string `json:"from"`
	To       string `json:"to"`
	Plan     string `json:"plan"`
	// Refusals are the reasons for which the server would refuse the change.
	Refusals   []string             `json:"refusals"`
	Parameters []previewedValue     `json:"parameters"`
	Resources  []resourceDifference `json:"resources"`
	// Unchanged is the number of rendered objects that stay as they are.
	Unchanged int `json:"unchanged"`
	// NotRendered says why the objects could not be rendered, empty if they were.
	NotRendered string `json:"notRendered,omitempty"`
}

// previewedValue is a parameter with its values before and after. A value is null if there is none.
type previewedValue struct {
	Name       string  `json:"name"`
	Old        *string `json:"old"`
	New        *string `json:"new"`
	Mutability string  `json:"mutability"`
	// Note is refused, pinned, changed or empty.
	Note string `json:"note,omitempty"`
}

// resourceDifference is a rendered object that differs, with the difference as unified diff.
type resourceDifference struct {
	Object     string `json:"object"`
	Difference string `json:"difference"`
}

// preview prints what a change to another version would do: the parameters, the plan and the
// difference of the rendered objects. It returns the refusals as an error.
func (d *dryRun) preview(ctx context.Context, s *server, c change, target printed) error {
	judged, err := s.judge(ctx, target.instance, c)
	if err != nil {
		return err
	}
	from, err := s.version(ctx, judged.before.VersionKey())
	if err != nil {
		return err
	}
	to := c.target
	if to == nil {
		if to, err = s.version(ctx, judged.after.VersionKey()); err != nil {
			return err
		}
	}
	if from == nil || to == nil {
		// One of the versions does not exist, which is among the refusals.
		return refused(c.name, judged.decision)
	}
	p := &preview{
		Instance: target.instance, From: from.Name, To: to.Name, Plan: judged.decision.Plan, Refusals: []string{},
		Parameters: previewedValues(judged.decision), Resources: []resourceDifference{},
	}
	for _, refusal := range judged.decision.Refusals {
		p.Refusals = append(p.Refusals, refusal.Message)
	}
	if err := p.compare(ctx, judged, [2]*api.OperatorVersion{from, to}); err != nil {
		return err
	}
	if err := d.print(target.out, p); err != nil {
		return err
	}
	if err := refused(c.name, judged.decision); err != nil {
		return err
	}
	return d.try(ctx, s, c, judged)
}

// print prints a preview in the format of the flags.
func (d *dryRun) print(out io.Writer, p *preview) error {
	if d.format != "" {
		return d.format.print(out, p)
	}
	return p.print(d.cmd, out)
}

// try lets the server try the writes of a change, with --dry-run=server. Of an Instance of a version that the server does not have, it tries only
// the packages: the server would not find the version.
func (d *dryRun) try(ctx context.Context, s *server, c change, judged *judgement) error {
	tried := &server{Interface: s.Interface, namespace: s.namespace, dryRun: d.DryRun}
	if _, err := tried.upload(ctx, c.packages); err != nil {
		return err
	}
	stored, err := s.version(ctx, judged.after.VersionKey())
	if err != nil || stored == nil {
		return err
	}
	_, err = tried.write(ctx, judged.after.Name, c, nil)
	return err
}

// printed is an Instance, and where the preview of its change is printed.
type printed struct {
	instance string
	out      io.Writer
}

func previewedValues(decision parameters.Decision) []previewedValue {
	values := []previewedValue{}
	for _, row := range decision.Rows {
		note := ""
		switch {
		case len(row.Refused) > 0:
			note = "refused"
		case row.Pinned:
			note = "pinned"
		case row.Changed:
			note = "changed"
		}
		values = append(values, previewedValue{row.Name, row.Old, row.New, string(row.Mutability), note})
	}
	return values
}

// compare adds the difference of the objects that the two versions render, by the plan deploy and
// the plan that would run.
func (p *preview) compare(ctx context.Context, judged *judgement, versions [2]*api.OperatorVersion) error {
	plans := slices.Compact([]string{parameters.DeployPlan, judged.decision.Plan})
	wanted := judged.decision.Values
	if wanted == nil {
		wanted = judged.after.Spec.Parameters
	}
	oldObjects := map[string]*unstructured.Unstructured{}
	if versions[0] != nil {
		var err error
		if oldObjects, err = (rendering{judged.before, versions[0], judged.before.Spec.Parameters}).objects(ctx, plans); err != nil {
			return fmt.Errorf("render %s: %w", versions[0].Name, err)
		}
	}
	newObjects, err := rendering{judged.after, versions[1], wanted}.objects(ctx, plans)
	switch {
	case err != nil && !judged.decision.Accepted():
		// A refused upgrade may lack values that the templates need.
		p.NotRendered = err.Error()
		return nil
	case err != nil:
		return fmt.Errorf("render %s: %w", versions[1].Name, err)
	}
	names := maps.Clone(oldObjects)
	maps.Copy(names, newObjects)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		text, err := difference.Unified(name, oldObjects[name], newObjects[name])
		if err != nil {
			return err
		}
		if text == "" {
			p.Unchanged++
			continue
		}
		p.Resources = append(p.Resources, resourceDifference{name, text})
	}
	return nil
}

// print prints the preview for people.
func (p *preview) print(cmd *cobra.Command, out io.Writer) error {
	if _, err := fmt.Fprintf(out, "%s: %s -> %s\n\n", p.Instance, cmp.Or(p.From, "-"), p.To); err != nil {
		return err
	}
	rows := [][]string{{"PARAMETER", "OLD", "NEW", "MUTABILITY", "NOTE"}}
	for _, v := range p.Parameters {
		rows = append(rows, []string{v.Name, valueCell(v.Old), valueCell(v.New), v.Mutability, v.Note})
	}
	if err := table(out, rows); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "\nplan: %s\n", p.Plan); err != nil {
		return err
	}
	if p.NotRendered != "" {
		_, err := fmt.Fprintf(out, "\nresources: not rendered while values are missing: %s\n", p.NotRendered)
		return err
	}
	for _, resource := range p.Resources {
		if _, err := fmt.Fprintf(out, "\n%s", command.Diff(cmd, out, resource.Difference)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\nresources: %d differ, %d stay as they are\n", len(p.Resources), p.Unchanged)
	return err
}
