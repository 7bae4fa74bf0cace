package guard

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// table has the rules of all guarded resources. It never changes.
type table struct {
	resources map[schema.GroupResource]*resource
	// reports are about the policies, by name.
	reports map[string]report
	// problems are the reasons for which lines of annotations have no effect, by the name of the definition.
	problems map[string][]string
}

// report is what the status of a policy says.
type report struct {
	generation int64
	// matched are the guarded resources of the policy.
	matched []string
	// problems are the reasons for which parts of the policy have no effect.
	problems []string
}

// add adds problems that the report does not have yet.
func (r *report) add(problems ...string) {
	for _, problem := range problems {
		if !slices.Contains(r.problems, problem) {
			r.problems = append(r.problems, problem)
		}
	}
}

func newTable() *table {
	return &table{resources: map[schema.GroupResource]*resource{}, reports: map[string]report{}, problems: map[string][]string{}}
}

// resource returns the entry of a resource, which it makes if there is none.
func (t *table) resource(name schema.GroupResource, kind schema.GroupKind) *resource {
	found := t.resources[name]
	if found == nil {
		found = &resource{GroupResource: name, kind: kind, replicas: map[string][]string{}}
		t.resources[name] = found
	}
	return found
}

// sorted returns the guarded resources in a fixed order.
func (t *table) sorted() []*resource {
	return slices.SortedFunc(maps.Values(t.resources), func(a, b *resource) int {
		return strings.Compare(a.String(), b.String())
	})
}
