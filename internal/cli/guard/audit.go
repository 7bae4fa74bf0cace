package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/cli/arguments"
	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/othercluster/guard"
)

const auditHelp = `Find what the rules of a cluster do not protect: markers that the server dropped from a
definition, rules without effect, resources that the API server does not ask the guard
about, escapes by two writes, and guarded fields that differ from the last applied
configuration. The command changes nothing, and the guard need not run.

The exit code is 0 if nothing was found, 1 if something was, and 2 if the cluster could
not be read, or has neither a guard nor a finding.`

// The formats of the report that package finding does not have.
const (
	outputTable = "table"
	outputYAML  = "yaml"
)

// auditing holds the flags of the command.
type auditing struct {
	command.Server
	excluded        resources
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
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	a.AddFlags(cmd.Flags())
	a.excluded.addFlags(cmd.Flags())
	cmd.Flags().StringVarP(&a.output, "output", "o", outputTable, "table, json, yaml or sarif")
	return cmd
}

func (a *auditing) run(cmd *cobra.Command) error {
	if !slices.Contains([]string{outputTable, outputYAML, string(finding.JSON), string(finding.SARIF)}, a.output) {
		return fmt.Errorf("--output %q: must be table, json, yaml or sarif", a.output)
	}
	config, err := a.Config()
	if err != nil {
		return err
	}
	audited := guard.Config{Client: config, ExcludeResources: a.excluded.parsed()}
	if audited.PoliciesOnly, err = guard.IsHoldfast(config); err != nil {
		return err
	}
	found, objects, err := guard.Audit(cmd.Context(), audited)
	if err != nil {
		return err
	}
	if !audited.PoliciesOnly {
		installed, err := guard.Installed(cmd.Context(), config)
		switch {
		case err != nil:
			return fmt.Errorf("find the guard: %w", err)
		case !installed && len(found) == 0:
			return errNotInstalled
		case !installed:
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %v\n", errNotInstalled)
		}
	}
	report := &finding.Report{Rules: guard.AuditRules(), Findings: found, Version: a.version, Objects: objects, Noun: "object"}
	switch a.output {
	case outputTable:
		err = writeTable(cmd, report)
	case outputYAML:
		err = writeYAML(cmd.OutOrStdout(), report)
	default:
		err = report.Write(cmd.OutOrStdout(), finding.Format(a.output))
	}
	switch {
	case err != nil:
		return err
	case len(found) > 0:
		return command.Refused(errors.New(finding.Quantity(len(found), "finding")))
	}
	return nil
}

// errNotInstalled is the error about a cluster without a guard. Nothing protects it, so there is nothing to audit.
var errNotInstalled = errors.New("no guard is installed on this cluster, and its API server does not protect immutable fields: install one with " +
	"\"holdfast guard init\", which \"holdfast guard init --help\" explains")

// writeYAML writes the report as YAML.
func writeYAML(out io.Writer, report *finding.Report) error {
	var text bytes.Buffer
	if err := report.Write(&text, finding.JSON); err != nil {
		return err
	}
	converted, err := yaml.JSONToYAML(text.Bytes())
	if err != nil {
		return err
	}
	_, err = out.Write(converted)
	return err
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
