package kudo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
)

func newListCommand() *cobra.Command {
	return group("list", "List what a package defines",
		newListOf("parameters", "List the parameters of a package, in its order", parameterRows),
		newListOf("plans", "List the plans of a package with their phases, steps and tasks", planRows),
		newListOf("tasks", "List the tasks of a package", taskRows))
}

// newListOf returns a command that prints a table of one part of a package.
func newListOf(what, short string, rows func(*pack.Package) [][]string) *cobra.Command {
	var from source
	cmd := &cobra.Command{
		Use:     what + " PACKAGE",
		Short:   short,
		Example: fmt.Sprintf("  holdfast kudo package list %s ./kafka", what),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := from.load(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return table(cmd.OutOrStdout(), rows(p))
		},
	}
	from.addFlags(cmd.Flags())
	return cmd
}

func parameterRows(p *pack.Package) [][]string {
	rows := [][]string{{"Name", "Default", "Required", "Immutable"}}
	for _, d := range p.Definitions().Definitions {
		rows = append(rows, []string{d.Name, valueCell(d.Default), strconv.FormatBool(d.Required), strconv.FormatBool(d.Immutable)})
	}
	return rows
}

func planRows(p *pack.Package) [][]string {
	rows := [][]string{{"Plan", "Phase", "Step", "Tasks"}}
	for _, name := range slices.Sorted(maps.Keys(p.Operator.Plans)) {
		plan := p.Operator.Plans[name]
		for _, phase := range plan.Phases {
			for _, step := range phase.Steps {
				rows = append(rows, []string{
					withStrategy(name, plan.Strategy), withStrategy(phase.Name, phase.Strategy),
					step.Name, strings.Join(step.Tasks, ", "),
				})
			}
		}
	}
	return rows
}

// withStrategy returns the name of a plan or a phase with its strategy.
func withStrategy(name string, strategy api.Strategy) string {
	if strategy == "" {
		strategy = api.Serial
	}
	return fmt.Sprintf("%s (%s)", name, strategy)
}

func taskRows(p *pack.Package) [][]string {
	rows := [][]string{{"Name", "Kind", "Uses"}}
	for _, task := range p.Operator.Tasks {
		uses := slices.Clone(task.Spec.Resources)
		for _, more := range []string{task.Spec.Parameter, task.Spec.Pod, task.Spec.Package, task.Spec.ParameterFile} {
			if more != "" {
				uses = append(uses, more)
			}
		}
		rows = append(rows, []string{task.Name, string(task.Kind), strings.Join(uses, ", ")})
	}
	return rows
}
