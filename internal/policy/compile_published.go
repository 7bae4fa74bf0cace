package policy

import (
	"context"
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/while"
	"holdfast.dev/holdfast/schema"
)

// addPublished adds rules for a resource without a definition: a built-in or aggregated one. Its schema is
// the one that the API server publishes. It returns why some rules have no effect, which writes the
// rules do not judge, and an error only if the API server does not answer.
func (c Compiler) addPublished(
	ctx context.Context, t *Table, name runtimeschema.GroupResource, marks []immutability.Mark, from Source,
) (problems, notes []string, err error) {
	served, err := c.Server.Published(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if served == nil {
		t.Missing[name] = true
		return []string{"the server does not have this resource"}, nil, nil
	}
	version := served.Kind.Version
	rules, valid, problems := compilePublished(served.Schema, version, marks)
	from.Rules = rules
	t.keep(name, from, valid, []string{version})
	// Without other rules, a policy that keeps objects still needs the updates of labels by which it selects them.
	if rules.policy != nil || t.keepsFor(name, from.Policy) && from.Match.HasObjectSelector() {
		r := t.resource(name, served.Kind.GroupKind())
		r.Versions = []string{version}
		r.add(valid, version, served.Endpoints)
		if from.Match.HasObjectSelector() {
			r.addRelabelling(served.Endpoints)
		}
		problems = append(problems, served.Endpoints.unknown...)
		r.Sources = append(r.Sources, from)
	}
	return problems, served.Endpoints.notes(valid), nil
}

// compilePublished compiles marks for a schema, which read returns without markers. It returns the marks that count, and why
// the others do not. A marker about the keys of a list needs another one on the keys, so marks are removed until all are valid.
func compilePublished(
	read func() (*schema.Schema, error), version string, marks []immutability.Mark,
) (rules publishedRules, valid []immutability.Mark, problems []string) {
	rules = publishedRules{version: version, conditions: map[string]*while.Condition{}}
	for {
		s, err := read()
		if err != nil {
			return rules, nil, append(problems, err.Error())
		}
		valid = nil
		for _, m := range marks {
			problem := rules.refuses(s, m)
			if problem != "" {
				problems = append(problems, m.String()+": "+problem)
			} else {
				valid = append(valid, m)
			}
		}
		marked := immutability.AddMarks(s, version, valid)
		var wrong []immutability.Mark
		for _, m := range valid {
			for _, e := range m.Validate(marked.Schema) {
				problems, wrong = append(problems, e.Error()), append(wrong, m)
			}
		}
		if len(wrong) == 0 {
			if rules.policy, err = immutability.CompileBuiltIn(marked.Schema, marked.Layers...); err != nil {
				problems = append(problems, err.Error())
			}
			return rules, valid, problems
		}
		marks = slices.DeleteFunc(valid, func(m immutability.Mark) bool {
			return slices.ContainsFunc(wrong, func(w immutability.Mark) bool { return w.String() == m.String() })
		})
	}
}

// refuses returns why a mark has no effect for a schema, the empty text if it has one. It compiles the condition of the mark.
func (r publishedRules) refuses(s *schema.Schema, m immutability.Mark) string {
	switch {
	case !m.In(r.version):
		return "the rules of this resource are for version " + r.version
	case !m.IsNoDelete() && !m.IsMetadata() && m.SchemaNode(s) == nil:
		return "the resource has no such field"
	case m.While == "" || r.conditions[m.While] != nil:
		return ""
	}
	condition, err := while.ForBuiltIn(s, m.While)
	if err != nil {
		return "the condition is wrong: " + err.Error()
	}
	r.conditions[m.While] = condition
	return ""
}
