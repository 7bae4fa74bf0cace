package policy

import (
	"context"
	"fmt"
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// addPublished adds rules for a resource without a definition: a built-in or aggregated one. Its schema is
// the one that the API server publishes. It returns why some rules have no effect, and an error only if the API
// server does not answer.
func (c Compiler) addPublished(
	ctx context.Context, t *Table, name runtimeschema.GroupResource, marks []immutability.Mark, from Source,
) ([]string, error) {
	served, err := c.Server.Published(ctx, name)
	if err != nil {
		return nil, err
	}
	if served == nil {
		return []string{"the server does not have this resource"}, nil
	}
	version := served.Kind.Version
	policy, valid, problems := compilePublished(served.Schema, version, marks)
	if policy != nil {
		r := t.resource(name, served.Kind.GroupKind())
		r.Versions = []string{version}
		r.add(valid, version, served.Endpoints)
		if from.Match.HasObjectSelector() {
			r.addRelabelling(served.Endpoints)
		}
		problems = append(problems, served.Endpoints.unknown...)
		from.Rules = publishedRules{version: version, policy: policy}
		r.Sources = append(r.Sources, from)
	}
	return problems, nil
}

// compilePublished compiles marks for a schema, which read returns without markers. It returns the marks that count, and why
// the others do not. A marker about the keys of a list needs another one on the keys, so marks are removed until all are valid.
func compilePublished(
	read func() (*schema.Schema, error), version string, marks []immutability.Mark,
) (policy *immutability.Policy, valid []immutability.Mark, problems []string) {
	for {
		s, err := read()
		if err != nil {
			return nil, nil, append(problems, err.Error())
		}
		valid = nil
		for _, m := range marks {
			switch {
			case !m.In(version):
				problems = append(problems, fmt.Sprintf("%s: the guard reads this resource in version %s", m, version))
			case !m.AddTo(s):
				problems = append(problems, fmt.Sprintf("%s: the resource has no such field", m))
			default:
				valid = append(valid, m)
			}
		}
		for _, e := range immutability.Validate(s) {
			problems = append(problems, e.Error())
		}
		wrong := immutability.InvalidMarks(s, valid)
		if len(wrong) == 0 {
			if policy, err = immutability.Compile(s); err != nil {
				problems = append(problems, err.Error())
			}
			return policy, valid, problems
		}
		marks = slices.DeleteFunc(valid, func(m immutability.Mark) bool {
			return slices.ContainsFunc(wrong, func(w immutability.Mark) bool { return w.String() == m.String() })
		})
	}
}
