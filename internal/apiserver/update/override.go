package update

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"

	"holdfast.dev/holdfast/internal/definition/refusal"
	"holdfast.dev/holdfast/internal/protection"
)

// OverrideAnnotation is the audit annotation of a write that breaks rules by the right of its user. Its value has the fields, or
// no-delete for a deletion, and the verbs.
const OverrideAnnotation = "rules.holdfast.dev/override"

// Override tells the client, the audit log and the metrics that the right of the client allows an update which rules forbid.
func Override(ctx context.Context, answer refusal.Answer, allowed []refusal.Violation) {
	var fields []string
	for _, one := range allowed {
		warning.AddWarning(ctx, "", answer.Override(one))
		fields = append(fields, one.Path.String()+" "+one.Mark.Unless)
	}
	audit.AddAuditAnnotation(ctx, OverrideAnnotation, strings.Join(fields, ", "))
	protection.Override(ctx)
}

// OverrideDeletion tells the client and the audit log that the right of the client allows the deletion of an object that rules keep.
// verbs are those of the rules.
func OverrideDeletion(ctx context.Context, object string, verbs []string) {
	var rules []string
	for _, verb := range verbs {
		warning.AddWarning(ctx, "", object+": deleted by the right to "+verb)
		rules = append(rules, "no-delete "+verb)
	}
	audit.AddAuditAnnotation(ctx, OverrideAnnotation, strings.Join(rules, ", "))
}
