package policy

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Table has the rules of all guarded resources. It never changes.
type Table struct {
	Resources map[schema.GroupResource]*Resource
	// Reports are about the policies, by name.
	Reports map[string]Report
	// Missing are the resources of policies that the server does not have.
	Missing map[schema.GroupResource]bool
	// Kept are the rules no-delete.
	Kept map[schema.GroupResource][]Kept
	// Problems are the reasons for which lines of annotations have no effect, by the name of the definition.
	Problems map[string][]string
}

// Report is what the status of a policy says.
type Report struct {
	Generation int64
	UID        types.UID
	// Matched are the guarded resources of the policy.
	Matched []string
	// Problems are the reasons for which parts of the policy have no effect.
	Problems []string
	// Notes name the writes that the rules do not judge on purpose.
	Notes []string
}

// add adds problems that the report does not have yet.
func (r *Report) add(problems ...string) {
	for _, problem := range problems {
		if !slices.Contains(r.Problems, problem) {
			r.Problems = append(r.Problems, problem)
		}
	}
}

// note adds a note that the report does not have yet.
func (r *Report) note(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{
		Resources: map[schema.GroupResource]*Resource{}, Reports: map[string]Report{}, Missing: map[schema.GroupResource]bool{},
		Kept: map[schema.GroupResource][]Kept{}, Problems: map[string][]string{},
	}
}

// resource returns the entry of a resource, which it makes if there is none.
func (t *Table) resource(name schema.GroupResource, kind schema.GroupKind) *Resource {
	found := t.Resources[name]
	if found == nil {
		found = &Resource{GroupResource: name, Kind: kind, Replicas: map[string][]string{}}
		t.Resources[name] = found
	}
	return found
}

// Sorted returns the guarded resources in a fixed order.
func (t *Table) Sorted() []*Resource {
	return slices.SortedFunc(maps.Values(t.Resources), func(a, b *Resource) int {
		return strings.Compare(a.String(), b.String())
	})
}
