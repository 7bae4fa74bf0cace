package guard

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/finding"
	"holdfast.dev/holdfast/guard"
)

const auditHelp = `Find what the rules of a cluster do not protect: markers that the server dropped from a
definition, rules without effect, resources that the API server does not ask the guard
about, escapes by two writes, and guarded fields that differ from the last applied
configuration. The command changes nothing, and works without a running guard.

The exit code is 0 if nothing was found, 1 if something was, and 2 if the cluster could
not be read.`

// auditing holds the flags of the command.
type auditing struct {
	connection
	output, version string
}

func newAuditCommand(program Program) *cobra.Command {
	a := auditing{version: program.Version}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Find what the rules of a cluster do not protect",
		Long:  auditHelp,
		Example: `  holdfast guard audit
  holdfast guard audit -o sarif > guard.sarif`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	a.connection.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&a.output, "output", "o", "table", "table, json or sarif")
	return cmd
}

func (a *auditing) run(cmd *cobra.Command) error {
	if a.output != "table" && a.output != string(finding.JSON) && a.output != string(finding.SARIF) {
		return auditError{fmt.Errorf("--output %q: must be table, json or sarif", a.output), 2}
	}
	config, err := a.config()
	if err != nil {
		return auditError{err, 2}
	}
	found, objects, err := guard.Audit(cmd.Context(), config)
	if err != nil {
		return auditError{err, 2}
	}
	report := &finding.Report{Rules: guard.AuditRules(), Findings: found, Version: a.version, Objects: objects, Noun: "object"}
	if a.output == "table" {
		err = writeTable(cmd, report)
	} else {
		err = report.Write(cmd.OutOrStdout(), finding.Format(a.output))
	}
	switch {
	case err != nil:
		return auditError{err, 2}
	case len(found) > 0:
		return auditError{errors.New(finding.Quantity(len(found), "finding")), 1}
	}
	return nil
}

// writeTable writes a line for each finding.
func writeTable(cmd *cobra.Command, report *finding.Report) error {
	if len(report.Findings) == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "nothing found in %s\n", finding.Quantity(report.Objects, "guarded object"))
		return nil
	}
	out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 3, ' ', 0)
	fmt.Fprintln(out, "SEVERITY\tRULE\tOBJECT\tFIELD\tMESSAGE")
	for _, f := range report.Findings {
		message := strings.ReplaceAll(f.Message, "\n", " ")
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", f.Severity, f.Rule, f.Object, f.Path, message)
	}
	return out.Flush()
}

// auditError is an error with an exit code.
type auditError struct {
	error
	code int
}

// Unwrap returns the error without the code.
func (e auditError) Unwrap() error { return e.error }

// ExitCode returns the exit code of the process.
func (e auditError) ExitCode() int { return e.code }
