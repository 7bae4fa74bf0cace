package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/referrers"
	"holdfast.dev/holdfast/internal/references"
)

// errNoIndex is the error of a server that has no index of references.
var errNoIndex = errors.New(`this server has no index of references: only "holdfast serve" has one`)

// usersOf asks the server which objects refer to objects of a kind. The result has no entry for an object without references.
func (s *server) usersOf(ctx context.Context, kind references.Kind, names []string) (map[string]*referrers.References, error) {
	collection := fmt.Sprintf("/api/v1/namespaces/%s/%s", s.namespace, resourceOf(kind).Resource)
	unused := referrers.UnusedList{}
	if err := s.ask(ctx, collection+"?all=true", referrers.UnusedType, &unused); err != nil {
		return nil, err
	}
	found := map[string]*referrers.References{}
	for _, name := range names {
		// One list answers for all objects without references. A series may have many.
		if slices.ContainsFunc(unused.Items, func(u referrers.Unused) bool { return u.Name == name }) {
			continue
		}
		answer := &referrers.References{}
		if err := s.ask(ctx, collection+"/"+name, referrers.ReferencesType, answer); err != nil {
			return nil, err
		}
		found[name] = answer
	}
	return found, nil
}

// names returns the names of the members, and that of the series, to which a manifest may refer although there is no such object.
func (m *members) names() []string {
	var names []string
	for _, member := range m.sorted {
		names = append(names, member.Name)
	}
	if !m.foreign && !m.has(m.name) {
		names = append(names, m.name)
	}
	return names
}

// userName returns a referring object as kubectl prints it: deployment.apps/web.
func userName(r referrers.Referrer, namespace string) string {
	name := strings.ToLower(r.Kind)
	if group := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).Group; group != "" {
		name += "." + group
	}
	name += "/" + r.Name
	if r.Namespace != "" && r.Namespace != namespace {
		name += " of namespace " + r.Namespace
	}
	return name
}

// dependents are the kinds of which a controller creates many objects. They are counted if they are more than one.
func dependents() []string {
	return []string{"replicaset.apps", "controllerrevision.apps", "job.batch", "pod"}
}

// summary returns referring objects in one line. Those of a dependent kind are counted.
func summary(users []string, hidden int) string {
	var texts []string
	counted := map[string]int{}
	for _, user := range users {
		kind, _, _ := strings.Cut(user, "/")
		counted[kind]++
	}
	for _, user := range users {
		if kind, _, _ := strings.Cut(user, "/"); counted[kind] == 1 || !slices.Contains(dependents(), kind) {
			texts = append(texts, user)
		}
	}
	for _, kind := range dependents() {
		if n := counted[kind]; n > 1 {
			of, group, _ := strings.Cut(kind, ".")
			texts = append(texts, strings.TrimSuffix(fmt.Sprintf("%d %ss.%s", n, of, group), "."))
		}
	}
	if hidden > 0 {
		texts = append(texts, fmt.Sprintf("%d that you may not get", hidden))
	}
	return cmp.Or(strings.Join(texts, ","), "-")
}
