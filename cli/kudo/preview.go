package kudo

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/parameters"
)

// preview prints what a change to another version would do: the parameters, the plan and the
// difference of the rendered objects. It returns the refusals as an error.
func (s *server) preview(ctx context.Context, name string, c change, out io.Writer) error {
	judged, err := s.judge(ctx, name, c)
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
	if _, err := fmt.Fprintf(out, "%s: %s -> %s\n\n", name, from.Name, to.Name); err != nil {
		return err
	}
	if err := decisionTable(out, judged.decision); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "\nplan: %s\n", judged.decision.Plan); err != nil {
		return err
	}
	if err := s.difference(ctx, judged, [2]*api.OperatorVersion{from, to}, out); err != nil {
		return err
	}
	return refused(c.name, judged.decision)
}

// difference prints the difference of the objects that the two versions render, by the plan
// deploy and the plan that would run.
func (s *server) difference(ctx context.Context, judged *judgement, versions [2]*api.OperatorVersion, out io.Writer) error {
	plans := slices.Compact([]string{parameters.DeployPlan, judged.decision.Plan})
	wanted := judged.decision.Values
	if wanted == nil {
		wanted = judged.after.Spec.Parameters
	}
	oldObjects, err := rendering{judged.before, versions[0], judged.before.Spec.Parameters}.objects(ctx, plans)
	if err != nil {
		return fmt.Errorf("render %s: %w", versions[0].Name, err)
	}
	newObjects, err := rendering{judged.after, versions[1], wanted}.objects(ctx, plans)
	if err != nil {
		if !judged.decision.Accepted() {
			// A refused upgrade may lack values that the templates need.
			_, err := fmt.Fprintf(out, "\nresources: not rendered while values are missing: %v\n", err)
			return err
		}
		return fmt.Errorf("render %s: %w", versions[1].Name, err)
	}
	names := maps.Clone(oldObjects)
	maps.Copy(names, newObjects)
	same := 0
	for _, name := range slices.Sorted(maps.Keys(names)) {
		text, err := unified(name, oldObjects[name], newObjects[name])
		if err != nil {
			return err
		}
		if text == "" {
			same++
			continue
		}
		if _, err := fmt.Fprintf(out, "\n%s", text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "\nresources: %d differ, %d stay as they are\n", len(names)-same, same)
	return err
}

// decisionTable prints a table of the parameters with their old and new values.
func decisionTable(out io.Writer, decision parameters.Decision) error {
	rows := [][]string{{"PARAMETER", "OLD", "NEW", "MUTABILITY", "NOTE"}}
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
		rows = append(rows, []string{row.Name, valueCell(row.Old), valueCell(row.New), string(row.Mutability), note})
	}
	return table(out, rows)
}
