package policy

import (
	"context"
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
)

// Escapes returns a warning for each way around the rules of a policy in two writes, for custom resources. It does not know which
// parents the built-in kinds always have.
func (c Compiler) Escapes(ctx context.Context, policy *ImmutabilityPolicy) ([]string, error) {
	enforced, _ := policy.marks(Enforce)
	warning, _ := policy.marks(Warn)
	var found []string
	for _, text := range policy.Spec.Resources {
		name := runtimeschema.ParseGroupResource(text)
		if c.excludes(policy, name) != "" {
			continue
		}
		crd, err := c.Server.Definition(ctx, name.String())
		if err != nil {
			return nil, err
		}
		if crd == nil {
			continue
		}
		// A rule that only warns does not close the way around one that is enforced.
		for _, marks := range [][]immutability.Mark{enforced, slices.Concat(enforced, warning)} {
			for _, line := range crd.PolicyEscapes(marks) {
				if line = text + ": " + line; !slices.Contains(found, line) {
					found = append(found, line)
				}
			}
		}
	}
	return found, nil
}
