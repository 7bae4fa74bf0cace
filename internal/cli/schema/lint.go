package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/definition/lint"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/manifest"
)

const lintHelp = `Find what is wrong with CustomResourceDefinitions.

Errors are what the server refuses: invalid schemas, markers, defaults, CEL rules,
names and versions, and keys that are no fields. Warnings are what it accepts but
the author may not expect, above all escapes: ways to change an immutable field in
two writes, each of which is allowed, also where a CEL rule protects the field, and
conditions of rules that read optional fields without has().
Notes are what other Kubernetes servers refuse.

Each finding has the file, line and column, the id of its rule, and the fix. With
--fix the command writes the fixes that do not change what a definition means; it
keeps comments and formatting. The other fixes need a decision of the author.

The command skips patches: definitions without group, names and versions, and files that
a kustomization lists as patches. It reads a template, such as a file of a Helm chart,
without the actions ({{ }}) in and around its metadata, and skips it if the rest is not
YAML. The last line has the numbers of what was skipped; -v names each.

A directory or pattern in which there is no definition is an error, because a wrong
path would otherwise pass in CI.`

const lintExamples = `  # Everything below a directory
  holdfast schema lint examples

  # What kustomize, Helm or a server prints
  cat examples/widgets.yaml | holdfast schema lint -

  # In a GitHub workflow: annotations, and a failure for warnings too
  holdfast schema lint -o github --fail-on warning examples/widgets.yaml

  # For code scanning
  holdfast schema lint -o sarif examples > lint.sarif`

// linting is one run of the command lint.
type linting struct {
	reporting
	fix    bool
	reader definitionReader
}

func newLintCommand(version string) *cobra.Command {
	l := &linting{reporting: reporting{rules: lint.Rules, version: version}}
	cmd := &cobra.Command{
		Use:     "lint (FILE | DIRECTORY | PATTERN | -)...",
		Short:   "Find what a server refuses or warns about, and ways around immutable fields",
		Long:    lintHelp,
		Example: lintExamples,
		Args:    arguments.AtLeastOne("FILE"),
		RunE:    l.run,
	}
	l.addFlags(cmd)
	cmd.Flags().BoolVar(&l.fix, "fix", false, "write the fixes that do not change what a definition means")
	command.TakeFiles(cmd)
	return cmd
}

func (l *linting) run(cmd *cobra.Command, args []string) error {
	if err := l.validate(); err != nil {
		return err
	}
	if l.fix && slices.Contains(args, manifest.Stdin) {
		return errors.New("--fix cannot write to stdin: name a file")
	}
	inputs, err := manifest.Expand(args)
	if err != nil {
		return err
	}
	l.reader = newDefinitionReader(inputs)
	results, err := each(cmd, inputs, l.file)
	if err != nil {
		return err
	}
	report := &finding.Report{Noun: "definition"}
	for i, result := range results {
		report.Findings = append(report.Findings, result.findings...)
		report.Objects += result.definitions
		report.Skipped = append(report.Skipped, result.skipped...)
		if result.definitions > 0 {
			report.Files++
		}
		if result.fixed > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: fixed, %s\n", inputs[i].Name, finding.Quantity(result.fixed, "change"))
		}
	}
	searched := func(i manifest.Input) bool { return !i.Explicit }
	if report.Objects == 0 && len(report.Findings) == 0 && slices.ContainsFunc(inputs, searched) {
		return noDefinition(args, report.Skipped)
	}
	return l.finish(cmd, report)
}

// maxRounds is how often --fix lints a file again after its edits.
const maxRounds = 4

// linted is the result for one file.
type linted struct {
	findings    []finding.Finding
	definitions int
	fixed       int
	skipped     []finding.Skipped
}

// file lints one file. With --fix it also fixes the file, and lints the result.
func (l *linting) file(ctx context.Context, input manifest.Input, data []byte) (linted, error) {
	result := l.lint(ctx, input, data)
	if !l.fix {
		return result, nil
	}
	mended, fixed := data, 0
	// A fix may make another one possible: a marker that is left alone on a list needs keys.
	for range maxRounds {
		next, changes := mend(input.Name, mended, result.findings)
		if changes == 0 {
			break
		}
		mended, fixed = next, fixed+changes
		result = l.lint(ctx, input, mended)
	}
	if fixed > 0 {
		if err := overwrite(input.Name, mended); err != nil {
			return result, err
		}
		result.fixed = fixed
	}
	for i := range result.findings {
		// What is left cannot be fixed this way.
		result.findings[i].Edits = nil
	}
	return result, nil
}
