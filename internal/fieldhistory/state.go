package fieldhistory

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/value"
)

// VersionError is the error for entries in several versions of the API: the same path may be another field in another version.
type VersionError struct {
	// Number is that of the newest entry in the earlier version.
	Number int64
	// Earlier is the version of the entries up to this one, and Later that of the entries after it.
	Earlier, Later string
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the entries up to %d are in the version %s of the API, and those after it in %s", e.Number, e.Earlier, e.Later)
}

// RangeError is the error for the number of a state that history does not have.
type RangeError struct {
	Number int64
	// First and Last are the states that history has. First is the one before the first entry.
	First, Last int64
}

// Error implements error.
func (e *RangeError) Error() string {
	return fmt.Sprintf("the history does not have the state after the entry %d: it has those after the entries %d to %d", e.Number, e.First, e.Last)
}

// State returns the content of an object after the entry with a number, from the content after the last entry. The number may be one less
// than that of the first entry. The result is nil if the object did not exist. Its version is that of [VersionOf]. Where history does not keep a value, State takes it from
// another state of the object that has it. If none has it, the result has a Hash, see [NotKept].
func State(content map[string]any, entries []Entry, number int64) (map[string]any, error) {
	w, err := newWalk(content, entries)
	if err != nil {
		return nil, err
	}
	if first, last := entries[0].Number-1, entries[len(entries)-1].Number; number < first || number > last {
		return nil, &RangeError{number, first, last}
	}
	for w.last() > number {
		if err := w.back(); err != nil {
			return nil, err
		}
	}
	return w.resolved(), nil
}

// VersionOf returns the version of the API of the state after an entry.
func VersionOf(entries []Entry, number int64) string {
	version := ""
	for _, entry := range slices.Backward(entries) {
		switch {
		case entry.Number <= number && entry.APIVersion != "":
			return entry.APIVersion
		case entry.Operation == Convert:
			version = entry.PreviousVersion
		case entry.APIVersion != "":
			version = entry.APIVersion
		}
	}
	return version
}

// LastChange returns the entry that last changed the value at a path, or a part of it. Its Number is 0 if no entry did. An entry that
// created the object counts. It does not go back to another version of the API, in which the path may be another field.
func LastChange(content map[string]any, entries []Entry, path *value.Path) (Entry, error) {
	w, err := newWalk(content, entries)
	if err != nil {
		return Entry{}, err
	}
	for len(w.entries) > 0 {
		after := w.content
		entry := w.entries[len(w.entries)-1]
		if entry.Operation == Convert {
			return Entry{}, &VersionError{entry.Number - 1, entry.PreviousVersion, entry.APIVersion}
		}
		if err := w.back(); err != nil {
			return Entry{}, err
		}
		if !value.Strict.Equal(w.known.resolve(At(after, path)), w.known.resolve(At(w.content, path))) {
			return entry, nil
		}
		if w.content == nil {
			break
		}
	}
	return Entry{}, nil
}

// walk goes back from one state of an object to the one before.
type walk struct {
	content map[string]any
	// entries are those that lead to the content.
	entries []Entry
	version string
	known   known
}

func newWalk(content map[string]any, entries []Entry) (*walk, error) {
	if len(entries) == 0 {
		return nil, &RangeError{}
	}
	return &walk{content: content, entries: entries, version: entries[len(entries)-1].APIVersion, known: known{}}, nil
}

// last returns the number of the entry that lead to the content.
func (w *walk) last() int64 {
	if len(w.entries) == 0 {
		return 0
	}
	return w.entries[len(w.entries)-1].Number
}

func (w *walk) back() error {
	rest := len(w.entries) - 1
	entry := w.entries[rest]
	if w.content == nil && entry.Operation != Delete {
		w.entries = w.entries[:rest]
		return nil
	}
	if entry.APIVersion != w.version && !entry.Truncated {
		return &VersionError{entry.Number, entry.APIVersion, w.version}
	}
	content, err := revert(w.content, entry, w.known)
	if err != nil {
		return fmt.Errorf("entry %d: %w", entry.Number, err)
	}
	w.content, w.entries = content, w.entries[:rest]
	if entry.Operation == Convert {
		w.version = entry.PreviousVersion
	}
	return nil
}

// resolved returns the content with the values that other states have. Earlier states may have some that later ones do not have.
func (w *walk) resolved() map[string]any {
	if w.content == nil {
		return nil
	}
	earlier := *w
	for hasHash(w.known.resolve(w.content)) && len(earlier.entries) > 0 && earlier.content != nil {
		if earlier.back() != nil {
			break
		}
	}
	content, _ := w.known.resolve(w.content).(map[string]any)
	return content
}
