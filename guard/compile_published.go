package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/immutability"
)

// unavailableError is an error of the API server, not of a source.
type unavailableError struct{ error }

// Unwrap returns the error of the API server.
func (e unavailableError) Unwrap() error { return e.error }

// addPublished adds rules for a resource without a definition: a built-in or aggregated one. Its schema is
// the one that the API server publishes. The error is about rules without effect; the others are
// added.
func (c compiler) addPublished(
	ctx context.Context, t *table, name runtimeschema.GroupResource, marks []immutability.Mark, from source,
) error {
	served, err := c.discover(name)
	if err != nil {
		return err
	}
	kind := served.version.WithKind(served.resource.Kind)
	path := "/openapi/v3/apis/" + served.version.String()
	if kind.Group == "" {
		path = "/openapi/v3/api/" + kind.Version
	}
	document, err := c.server.Discovery.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return unavailableError{fmt.Errorf("OpenAPI of %s: %w", name, err)}
	}
	s, err := publishedSchema(document, kind)
	if err != nil {
		return err
	}
	var wrong []error
	var known []immutability.Mark
	for _, m := range marks {
		switch {
		case !m.In(kind.Version):
			wrong = append(wrong, fmt.Errorf("%s: the guard reads this resource in version %s", m, kind.Version))
		case !m.AddTo(s):
			wrong = append(wrong, fmt.Errorf("%s: the resource has no such field", m))
		default:
			known = append(known, m)
		}
	}
	for _, e := range immutability.Validate(s) {
		wrong = append(wrong, e)
	}
	policy, err := immutability.Compile(s)
	if err != nil {
		return err
	}
	if policy != nil {
		r := t.resource(name, kind.GroupKind())
		r.versions = []string{kind.Version}
		r.add(known, kind.Version, served.endpoints)
		from.rules = publishedRules{version: kind.Version, policy: policy}
		r.sources = append(r.sources, from)
	}
	return errors.Join(wrong...)
}

// served is a resource in the preferred version of its group.
type served struct {
	version   runtimeschema.GroupVersion
	resource  metav1.APIResource
	endpoints endpoints
}

// discover asks the API server for a resource.
func (c compiler) discover(name runtimeschema.GroupResource) (served, error) {
	groups, err := c.server.Discovery.ServerGroups()
	if err != nil {
		return served{}, unavailableError{err}
	}
	at := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == name.Group })
	if at < 0 {
		return served{}, errors.New("the server does not have this group")
	}
	// The preferred version comes first. A resource may exist only in another one.
	versions := append([]metav1.GroupVersionForDiscovery{groups.Groups[at].PreferredVersion}, groups.Groups[at].Versions...)
	for _, version := range versions {
		list, err := c.server.Discovery.ServerResourcesForGroupVersion(version.GroupVersion)
		if err != nil {
			return served{}, unavailableError{err}
		}
		out := served{version: runtimeschema.GroupVersion{Group: name.Group, Version: version.Version}}
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
	return served{}, errors.New("the server does not have this resource")
}
