package plan

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/admission/keep"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/internal/policy"
)

// The parts of a refusal that are about the condition of a rule, and about the right to break it. Package refusal writes them.
var (
	whilePart   = regexp.MustCompile(`field is immutable(?: once set|: [a-zA-Z=, -]+)? while (.+?): (?:added|changed|removed|reordered)\b`)
	unclearPart = "; the condition could not be evaluated: "
	unlessPart  = regexp.MustCompile(`\(a user that may ([a-z]+) it can change it\)`)
	rightPart   = regexp.MustCompile(`^(.*) by the right to ([a-z]+)$`)
)

// WithConditions returns the hint of a reason, with what its message says about conditions: which one holds, and which right is
// missing. lacks reports whether the user is known not to have a verb. It may be nil.
func WithConditions(f finding.Finding, lacks func(verb string) bool) string {
	var hints []string
	if found := whilePart.FindStringSubmatch(f.Message); found != nil {
		if strings.Contains(f.Message, unclearPart) {
			hints = append(hints, "the rule holds, because its condition cannot be evaluated for the stored object")
		} else {
			hints = append(hints, "refused while "+found[1]+", which is true now")
		}
	}
	if found := unlessPart.FindStringSubmatch(f.Message); found != nil && lacks != nil && lacks(found[1]) {
		hints = append(hints, "you do not have the right to "+found[1])
	}
	if f.Fix != "" {
		hints = append(hints, f.Fix)
	}
	return strings.Join(hints, "; ")
}

// IsOverride reports whether a warning of the server is about a change that a right of the user allows.
func IsOverride(warning string) bool { return rightPart.MatchString(warning) }

// Override adds a note about a change that breaks a rule and that a right of the user allows. It takes the warning of the server.
func (p *Plan) Override(warning string) {
	if found := rightPart.FindStringSubmatch(warning); found != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("you have the right to %s, so the server accepts with a warning: %s", found[2], found[1]))
	}
}

// Kept returns why the server would refuse a deletion, empty if it would not: by the annotation of the object, or by a rule of the
// definition, which may be nil.
func Kept(ctx context.Context, crd *definition.CustomResourceDefinition, d policy.Deletion) string {
	if value, _ := keep.Value(&unstructured.Unstructured{Object: d.Content}); value == keep.Always {
		return fmt.Sprintf("the annotation %s: %s keeps it; a user that may unlock it can remove the annotation", keep.Annotation, value)
	}
	if crd == nil {
		return ""
	}
	// A definition selects no namespaces, so nothing asks for labels.
	found, err := policy.Annotated(crd).Judge(ctx, d, nil)
	if err != nil || found.Refused == nil {
		return ""
	}
	return fmt.Sprintf("the rule %q keeps it", found.Refused.String())
}
