package kudo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// listing holds the flags of the commands that list a part of a package.
type listing struct {
	source
	format                        output
	descriptions, required, names bool
	resources                     bool
}

func newListCommand() *cobra.Command {
	parameters, plans, tasks := &listing{}, &listing{}, &listing{}
	commands := []*cobra.Command{
		parameters.command("parameters", "List the parameters of a package, in its order", listed{
			parameters.parameterRows, func(p *pack.Package) any { return p.Params.Parameters },
		}),
		plans.command("plans", "List the plans of a package with their phases, steps and tasks", listed{
			plans.planRows, func(p *pack.Package) any { return p.Operator.Plans },
		}),
		tasks.command("tasks", "List the tasks of a package", listed{
			taskRows, func(p *pack.Package) any { return p.Operator.Tasks },
		}),
	}
	flags := commands[0].Flags()
	flags.BoolVarP(&parameters.descriptions, "descriptions", "d", false, "show the descriptions too")
	flags.BoolVarP(&parameters.required, "required", "r", false, "show only the parameters that need a value")
	flags.BoolVar(&parameters.names, "names", false, "show only the names")
	flags = commands[1].Flags()
	flags.BoolVar(&plans.resources, "with-tasks-resources", false, "show the templates of the tasks too")
	flags.BoolVarP(&plans.resources, "with-tasks", "t", false, "the same as --with-tasks-resources")
	return group("list", "List what a package defines", commands...)
}

// listed is one part of a package: as the rows of a table, and as a value for -o.
type listed struct {
	rows  func(*pack.Package) [][]string
	value func(*pack.Package) any
}

// command returns a command that prints one part of a package.
func (l *listing) command(what, short string, part listed) *cobra.Command {
	cmd := &cobra.Command{
		Use:     what + " [PACKAGE]",
		Short:   short,
		Long:    short + ". Without an argument, the package is the current folder.",
		Example: fmt.Sprintf("  holdfast kudo package list %s ./kafka", what),
		Args:    arguments.AtMost("PACKAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			location := "."
			if len(args) == 1 {
				location = args[0]
			}
			p, err := l.load(cmd.Context(), location)
			if err != nil {
				return err
			}
			if l.format != "" {
				return l.format.print(cmd.OutOrStdout(), part.value(p))
			}
			found := part.rows(p)
			if l.required && len(found) == 1 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "no parameter needs a value")
				return err
			}
			return table(cmd.OutOrStdout(), found)
		},
	}
	l.addFlags(cmd.Flags())
	l.format.addFlags(cmd.Flags())
	return cmd
}

func (l *listing) parameterRows(p *pack.Package) [][]string {
	header := []string{"Name", "Default", "Required", "Immutable"}
	if l.names {
		header = header[:1]
	} else if l.descriptions {
		header = append(header, "Description")
	}
	rows := [][]string{header}
	for i, d := range p.Definitions().Definitions {
		if _, found := d.DefaultText(); l.required && (found || !d.Required) {
			continue
		}
		row := []string{
			d.Name, valueCell(d.Default), strconv.FormatBool(d.Required), strconv.FormatBool(d.Immutable),
			strings.Join(strings.Fields(p.Params.Parameters[i].Description), " "),
		}
		rows = append(rows, row[:len(header)])
	}
	return rows
}

func (l *listing) planRows(p *pack.Package) [][]string {
	rows := [][]string{{"Plan", "Phase", "Step", "Tasks"}}
	for _, name := range slices.Sorted(maps.Keys(p.Operator.Plans)) {
		plan := p.Operator.Plans[name]
		for _, phase := range plan.Phases {
			for _, step := range phase.Steps {
				rows = append(rows, []string{
					withStrategy(name, plan.Strategy), withStrategy(phase.Name, phase.Strategy),
					step.Name, strings.Join(l.taskNames(p, step.Tasks), ", "),
				})
			}
		}
	}
	return rows
}

// taskNames returns the names of tasks, with their kinds and templates if the flag asks for them.
func (l *listing) taskNames(p *pack.Package, names []string) []string {
	if !l.resources {
		return names
	}
	var all []string
	for _, name := range names {
		for _, task := range p.Operator.Tasks {
			if task.Name == name {
				name = fmt.Sprintf("%s (%s %s)", name, task.Kind, strings.Join(uses(task), " "))
				break
			}
		}
		all = append(all, name)
	}
	return all
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
		rows = append(rows, []string{task.Name, string(task.Kind), strings.Join(uses(task), ", ")})
	}
	return rows
}

// uses returns the templates, the parameter and the package that a task uses.
func uses(task api.Task) []string {
	all := slices.Clone(task.Spec.Resources)
	for _, more := range []string{task.Spec.Parameter, task.Spec.Pod, task.Spec.Package, task.Spec.ParameterFile} {
		if more != "" {
			all = append(all, more)
		}
	}
	return all
}
