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

// Override tells the client, the audit log and the metrics that the right of the client allowed an update which rules forbid, if the
// update succeeds. allowed may be empty: the update may have been judged before, by an older state of the object.
func Override(ctx context.Context, answer refusal.Answer, allowed []refusal.Violation) {
	var fields, warnings []string
	for _, one := range allowed {
		warnings = append(warnings, answer.Override(one))
		fields = append(fields, one.Path.String()+" "+one.Mark.Unless)
	}
	announce(ctx, "", warnings, fields)
}

// OverrideDeletion is Override for the deletion of an object that rules keep. verbs are those of the rules.
func OverrideDeletion(ctx context.Context, object string, verbs []string) {
	var rules, warnings []string
	for _, verb := range verbs {
		warnings = append(warnings, object+": deleted by the right to "+verb)
		rules = append(rules, "no-delete "+verb)
	}
	announce(ctx, object, warnings, rules)
}

func announce(ctx context.Context, what string, warnings, rules []string) {
	if len(warnings) == 0 {
		protection.Override(ctx, what, nil)
		return
	}
	protection.Override(ctx, what, func() {
		for _, text := range warnings {
			warning.AddWarning(ctx, "", text)
		}
		audit.AddAuditAnnotation(ctx, OverrideAnnotation, strings.Join(rules, ", "))
	})
}
