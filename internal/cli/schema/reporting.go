package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/finding"
)

// reporting is the flags of commands that report findings.
type reporting struct {
	rules   []finding.Rule
	version string

	output  string
	failOn  string
	ignored []string
	verbose bool
}

// addFormatFlag adds the flag of the output format.
func (r *reporting) addFormatFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&r.output, "output", "o", "text", "output format: text, json, sarif or github")
}

// addFlags adds all flags.
func (r *reporting) addFlags(cmd *cobra.Command) {
	r.addFormatFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&r.failOn, "fail-on", "error", "exit with 1 for findings of this severity: error, warning, note or never")
	flags.BoolVarP(&r.verbose, "verbose", "v", false, "name the skipped patches and templates on stderr")
	flags.StringSliceVar(&r.ignored, "ignore", nil, "ids of rules to ignore")
}

// severities are the values of --fail-on for which a command may fail.
var severities = map[string]finding.Severity{"error": finding.Error, "warning": finding.Warning, "note": finding.Note}

// validate checks the flags.
func (r *reporting) validate() error {
	if _, err := finding.Parse(r.output); err != nil {
		return err
	}
	if _, ok := severities[r.failOn]; !ok && r.failOn != "never" {
		return fmt.Errorf("--fail-on %q: must be error, warning, note or never", r.failOn)
	}
	for _, id := range r.ignored {
		if !slices.ContainsFunc(r.rules, func(rule finding.Rule) bool { return rule.ID == id }) {
			var ids []string
			for _, rule := range r.rules {
				ids = append(ids, rule.ID)
			}
			return fmt.Errorf("--ignore %q: no such rule; the rules are %s", id, strings.Join(ids, ", "))
		}
	}
	return nil
}

// shown returns the findings whose rule is not ignored.
func (r *reporting) shown(findings []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(findings, func(f finding.Finding) bool { return slices.Contains(r.ignored, f.Rule) })
}

// finish writes the report. It returns an error if there is a finding of the severity in
// --fail-on, or of a worse one.
func (r *reporting) finish(cmd *cobra.Command, report *finding.Report) error {
	if err := r.write(cmd, report); err != nil {
		return err
	}
	if r.verbose {
		for _, s := range report.Skipped {
			fmt.Fprintln(cmd.ErrOrStderr(), skippedLine(s))
		}
	}
	if threshold, ok := severities[r.failOn]; ok && report.Worst(threshold) {
		return command.Refused(errors.New(report.Summary()))
	}
	fmt.Fprintln(cmd.ErrOrStderr(), report.Summary())
	return nil
}

// write writes the report.
func (r *reporting) write(cmd *cobra.Command, report *finding.Report) error {
	report.Rules, report.Version = r.rules, r.version
	if err := report.Write(cmd.OutOrStdout(), finding.Format(r.output)); err != nil {
		return err
	}
	return nil
}
