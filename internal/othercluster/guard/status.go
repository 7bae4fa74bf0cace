package guard

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/policy"
)

// coverage says which of the rules the API server asks the guard about.
type coverage struct {
	rules *policy.Table
	live  *configuration
	// failed is why the configuration could not be written.
	failed error
	// searched are those of the leader.
	searched map[string]string
}

// limit returns the report about a policy without the resources that the configuration lacks. They are problems.
func (c coverage) limit(name string, said policy.Report) policy.Report {
	out := policy.Report{Generation: said.Generation, UID: said.UID, Problems: slices.Clone(said.Problems)}
	for _, text := range said.Matched {
		resource := schema.ParseGroupResource(text)
		r := c.rules.Resources[resource]
		covered := r == nil || coversRules(c.live, updateRules(r))
		for _, k := range keptResources(c.rules) {
			if k.resource != resource || k.Policy != name {
				continue
			}
			covered = covered && k.covered(c.live)
			if problem := c.searched[k.key()]; problem != "" {
				out.Problems = append(out.Problems, text+": "+problem)
			}
		}
		if covered {
			out.Matched = append(out.Matched, text)
			continue
		}
		out.Problems = append(out.Problems, fmt.Sprintf("%s: the API server does not ask the guard about it: %v", text, c.failed))
	}
	return out
}

// writeStatus writes what a policy matches and what it cannot, if the status differs.
func (l *leader) writeStatus(ctx context.Context, name string, said policy.Report) error {
	policies := l.server.Dynamic.Resource(policy.Policies())
	cached, known, err := l.rules.policies.GetStore().GetByKey(name)
	if err != nil || !known {
		return err
	}
	obj, ok := cached.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	updated := policy.Reported(obj, said)
	if updated == nil {
		return nil
	}
	_, err = policies.UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: Name})
	return err
}
