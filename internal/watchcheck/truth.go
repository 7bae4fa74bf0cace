package watchcheck

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// Truth is the history of all objects of a resource.
type Truth struct {
	// The state of the objects is known from the revision start to the revision end.
	start, end uint64
	// versions are the states of each key, in the order of their revisions.
	versions map[string][]version
	writes   []write
}

// version is the state of a key since a revision. object is nil if there is none.
type version struct {
	revision uint64
	object   Object
}

// write is one write of one key. before is nil if there was no object, and after is nil if the write deletes it.
type write struct {
	revision      uint64
	key           string
	before, after Object
}

// NewTruth returns a history that begins with the objects at a revision. The objects have their resourceVersions.
func NewTruth(revision uint64, objects []Object) *Truth {
	t := &Truth{start: revision, end: revision, versions: map[string][]version{}}
	for _, object := range objects {
		t.versions[KeyOf(object)] = []version{{RevisionOf(object), object}}
	}
	return t
}

// Add adds a write: a key as of KeyOf, and the object after the write, nil if it was deleted. The truth keeps the object.
func (t *Truth) Add(revision uint64, key string, after Object) error {
	before := t.at(key, revision)
	switch {
	case revision < t.end || revision <= t.start:
		return fmt.Errorf("the write of %s at revision %d comes after revision %d", key, revision, t.end)
	case after == nil && before == nil:
		return fmt.Errorf("the write at revision %d deletes %s, which does not exist", revision, key)
	case after != nil && (KeyOf(after) != key || RevisionOf(after) != revision):
		return fmt.Errorf("the write of %s at revision %d has the object %s of revision %d", key, revision, KeyOf(after), RevisionOf(after))
	}
	t.writes = append(t.writes, write{revision, key, before, after})
	t.versions[key] = append(t.versions[key], version{revision, after})
	t.end = revision
	return nil
}

// Complete says that no write up to a revision is missing.
func (t *Truth) Complete(revision uint64) { t.end = max(t.end, revision) }

// End returns the last revision whose state is known.
func (t *Truth) End() uint64 { return t.end }

// Writes returns the number of writes.
func (t *Truth) Writes() int { return len(t.writes) }

// at returns the state of a key at a revision.
func (t *Truth) at(key string, revision uint64) Object {
	versions := t.versions[key]
	i := sort.Search(len(versions), func(i int) bool { return versions[i].revision > revision })
	if i == 0 {
		return nil
	}
	return versions[i-1].object
}

// state returns all objects at a revision, in the order of their keys.
func (t *Truth) state(revision uint64) []Object {
	var objects []Object
	for _, key := range slices.Sorted(maps.Keys(t.versions)) {
		if object := t.at(key, revision); object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

// known reports whether the state at a revision is known.
func (t *Truth) known(revision uint64) bool { return t.start <= revision && revision <= t.end }
