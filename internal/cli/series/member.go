package series

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/cli/command"
	"holdfast.dev/holdfast/internal/series"
)

// members are the members of a series that exist, the newest first.
type members struct {
	identity
	sorted []series.Member
	// foreign says that the object with the name of the series belongs to another series.
	foreign bool
}

// members reads the members of a series: the objects with its label, and the one that has its name.
func (s *server) members(ctx context.Context, id identity) (*members, error) {
	client := s.metadata.Resource(resourceOf(id.kind)).Namespace(s.namespace)
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: series.Label + "=" + id.name})
	if err != nil {
		return nil, command.Unable(fmt.Errorf("read the members of the series %s: %w", id, withRight(err)))
	}
	m := &members{identity: id}
	for i := range list.Items {
		m.sorted = append(m.sorted, memberOf(&list.Items[i]))
	}
	if !m.has(id.name) {
		switch named, err := client.Get(ctx, id.name, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, command.Unable(fmt.Errorf("read the members of the series %s: %w", id, withRight(err)))
		case named.Labels[series.Label] == "":
			m.sorted = append(m.sorted, memberOf(named))
		default:
			m.foreign = true
		}
	}
	series.Sort(id.name, m.sorted)
	return m, nil
}

func memberOf(object *metav1.PartialObjectMetadata) series.Member {
	return series.Member{Name: object.Name, Created: object.CreationTimestamp.Time}
}

// has reports whether an object is a member.
func (m *members) has(name string) bool { return m.index(name) >= 0 }

func (m *members) index(name string) int {
	return slices.IndexFunc(m.sorted, func(member series.Member) bool { return member.Name == name })
}

// covers reports whether a reference to a name is one to the series. The object with the name of the series need not exist: a manifest may
// have this name from the beginning.
func (m *members) covers(name string) bool { return name == m.name && !m.foreign || m.has(name) }

// find returns the member that a user names: by its whole name, or by what follows the name of the series.
func (m *members) find(text string) (string, error) {
	for _, name := range []string{text, m.name + "-" + text} {
		if m.has(name) {
			return name, nil
		}
	}
	return "", refused("the series %s has no member %q: %s", m.identity, text, m.list())
}

// list names the members for an error.
func (m *members) list() string {
	if len(m.sorted) == 0 {
		return `it has none; "holdfast series roll" creates the first one`
	}
	var names []string
	for _, member := range m.sorted {
		names = append(names, member.Name)
	}
	return "its members are " + strings.Join(names, ", ")
}
