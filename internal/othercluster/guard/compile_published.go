package guard

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
)

// addPublished adds rules for a resource without a definition: a built-in or aggregated one. Its schema is
// the one that the API server publishes. It returns why some rules have no effect, and an error only if the API
// server does not answer.
func (c compiler) addPublished(
	ctx context.Context, t *table, name runtimeschema.GroupResource, marks []immutability.Mark, from source,
) ([]string, error) {
	served, err := c.discover(name)
	if err != nil {
		return nil, err
	}
	if served == nil {
		return []string{"the server does not have this resource"}, nil
	}
	kind := served.version.WithKind(served.resource.Kind)
	path := "/openapi/v3/apis/" + served.version.String()
	if kind.Group == "" {
		path = "/openapi/v3/api/" + kind.Version
	}
	document, err := c.server.Discovery.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("OpenAPI of %s: %w", name, err)
	}
	read := func() (*schema.Schema, error) { return publishedSchema(document, kind) }
	policy, valid, problems := compilePublished(read, kind.Version, marks)
	if policy != nil {
		r := t.resource(name, kind.GroupKind())
		r.versions = []string{kind.Version}
		r.add(valid, kind.Version, served.endpoints)
		from.rules = publishedRules{version: kind.Version, policy: policy}
		r.sources = append(r.sources, from)
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

// served is a resource in the preferred version of its group.
type served struct {
	version   runtimeschema.GroupVersion
	resource  metav1.APIResource
	endpoints endpoints
}

// discover asks the API server for a resource. The result is nil if there is none.
func (c compiler) discover(name runtimeschema.GroupResource) (*served, error) {
	groups, err := c.server.Discovery.ServerGroups()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == name.Group })
	if at < 0 {
		return nil, nil
	}
	// The preferred version comes first. A resource may exist only in another one.
	versions := append([]metav1.GroupVersionForDiscovery{groups.Groups[at].PreferredVersion}, groups.Groups[at].Versions...)
	for _, version := range versions {
		list, err := c.server.Discovery.ServerResourcesForGroupVersion(version.GroupVersion)
		if err != nil {
			return nil, err
		}
		out := &served{version: runtimeschema.GroupVersion{Group: name.Group, Version: version.Version}}
		for _, r := range list.APIResources {
			switch r.Name {
			case name.Resource:
				out.resource = r
			case name.Resource + "/status":
				out.endpoints.hasStatus = true
			case name.Resource + "/scale":
				out.endpoints.replicas = []string{"spec", "replicas"}
			}
		}
		if out.resource.Name != "" {
			return out, nil
		}
	}
	return nil, nil
}
