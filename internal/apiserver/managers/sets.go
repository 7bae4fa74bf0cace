package managers

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
)

const (
	// limit is the size of the texts of all kept sets, in bytes. A set takes about ten times the memory of its text.
	limit = 1 << 20
	// largest is the size of the text of the largest set that is kept.
	largest = 32 << 10
)

// untracked are the fields that no manager owns.
var untracked = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "creationTimestamp"),
	fieldpath.MakePathOrDie("metadata", "selfLink"),
	fieldpath.MakePathOrDie("metadata", "uid"),
	fieldpath.MakePathOrDie("metadata", "clusterName"),
	fieldpath.MakePathOrDie("metadata", "generation"),
	fieldpath.MakePathOrDie("metadata", "managedFields"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
)

// Sets keeps decoded sets of fields. It is safe for concurrent use.
type Sets struct {
	cache *bounded.Cache[key, *fieldpath.Set]
}

// key identifies a set. Whether the library would write a set again depends on the types of its kind.
type key struct {
	kind schema.GroupVersionKind
	text string
}

// NewSets returns a cache without sets.
func NewSets() *Sets {
	return &Sets{bounded.New(bounded.Config[key, *fieldpath.Set]{Name: "managers", Limit: limit, Largest: largest})}
}

// Caches returns the cache for its metrics.
func (s *Sets) Caches() []bounded.Measured { return []bounded.Measured{s.cache} }

// find returns the set of an entry, nil if the library would write another one. The value is an object of the kind, from which the library takes its types.
func (s *Sets) find(kind schema.GroupVersionKind, entry *metav1.ManagedFieldsEntry, value *typed.TypedValue) *fieldpath.Set {
	if entry.FieldsV1 == nil {
		return nil
	}
	wanted := key{kind, entry.FieldsV1.GetRawString()}
	set, ok := s.cache.Get(wanted, func(*fieldpath.Set) bool { return true })
	if !ok {
		set = lasting(entry.FieldsV1.GetRawBytes(), value)
		s.cache.Add(wanted, set, len(wanted.text))
	}
	return set
}

// lasting decodes a set that the library would write again with the same text. It returns nil for every other text.
func lasting(text []byte, value *typed.TypedValue) *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(text)); err != nil || set.Empty() {
		return nil
	}
	if again, err := set.ToJSON(); err != nil || !bytes.Equal(again, text) {
		return nil
	}
	// A list or a map may have become atomic since an earlier version of the program.
	if changed, err := typed.ReconcileFieldSetWithSchema(set, value); err != nil || changed != nil {
		return nil
	}
	if !set.Intersection(untracked).Empty() {
		return nil
	}
	return set
}
