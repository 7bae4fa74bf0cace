package policy

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"

	"holdfast.dev/holdfast/internal/definition/refusal"
)

// Found are the violations of an update: of the rules that enforce, and of those that warn.
type Found struct {
	refusal.Decision
	Warned []refusal.Violation
	// Hits are the policies with these rules.
	Hits []Hit
}

// Hit is an update that rules of a policy forbid.
type Hit struct {
	Policy string
	Warns  bool
	Found  []refusal.Violation
}

// Check returns the violations of an update. labelsOf returns the labels of a namespace. If Check returns an error, those found so
// far are valid.
func (r *Resource) Check(ctx context.Context, u *Update, labelsOf func(namespace string) (labels.Set, error)) (Found, error) {
	var all Found
	for _, from := range r.Sources {
		matches, err := from.Match.Matches(u, labelsOf)
		if err != nil {
			return all, err
		}
		if !matches {
			continue
		}
		found, err := from.Rules.Check(ctx, u)
		if err != nil {
			return all, err
		}
		if from.Policy != "" {
			found = from.named(found)
			if len(found.Refused) > 0 {
				all.Hits = append(all.Hits, Hit{Policy: from.Policy, Warns: from.Warns, Found: found.Refused})
			}
		}
		if from.Warns {
			all.Warned = refusal.Merge(all.Warned, found.Refused)
		} else {
			all.Merge(found)
		}
	}
	return all, nil
}

// named returns violations whose source is the policy.
func (s Source) named(found refusal.Decision) refusal.Decision {
	for _, list := range [][]refusal.Violation{found.Refused, found.Allowed} {
		for i := range list {
			list[i].Source = "policy " + s.Policy
		}
	}
	return found
}
