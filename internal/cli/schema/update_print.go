package schema

import (
	"io"

	"holdfast.dev/holdfast/internal/cli/plan"
	"holdfast.dev/holdfast/internal/finding"
)

func (u *updating) print(out io.Writer, format finding.Format, plans []plan.Plan) error {
	switch format {
	case finding.JSON:
		return plan.PrintJSON(out, plans)
	case finding.Text:
		plan.Print(out, plans)
		return nil
	}
	report := finding.Report{Rules: plan.Rules, Version: u.version}
	for _, p := range plans {
		report.Findings = append(report.Findings, p.Reasons...)
	}
	return report.Write(out, format)
}
