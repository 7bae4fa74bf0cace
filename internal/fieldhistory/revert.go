package fieldhistory

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/value"
)

// ErrTruncated is the error of Revert for an entry that does not say what has changed.
var ErrTruncated = errors.New("history does not say what has changed")

// ErrWhole is the error of Revert if history does not keep the value of the whole object, or the value around a field.
var ErrWhole = errors.New("history does not keep the object before the write")

// ConflictError is the error of Revert if the object is not in the state after the entry.
type ConflictError struct {
	// Path is the field that has another value.
	Path string
	// Number is that of the entry.
	Number int64
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s does not have the value that it had after the entry %d", e.Path, e.Number)
}

// Revert returns the content of an object before an entry, from the content after it, see Content. It returns nil if the object did not
// exist before. For the entry of a deletion, the content after it is nil. Where history does not keep the value, the result has a Hash,
// see NotKept.
func Revert(content map[string]any, entry Entry) (map[string]any, error) {
	return revert(content, entry, nil)
}

// revert is Revert, and adds to known what it learns about hashes, unless known is nil.
func revert(content map[string]any, entry Entry, known known) (map[string]any, error) {
	switch {
	case entry.Operation == Create || entry.Operation == Replace:
		return nil, nil
	case entry.Truncated:
		return nil, ErrTruncated
	}
	root := clone(content)
	if content == nil {
		root = map[string]any{}
	}
	for _, change := range slices.Backward(entry.Changes) {
		before, err := decode(change.From, change.FromHash)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", change.Path, err)
		}
		after, err := decode(change.To, change.ToHash)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", change.Path, err)
		}
		path, err := value.ParsePath(change.Path)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", change.Path, err)
		}
		step := reversion{change: change, before: before, after: after, known: known}
		var ok bool
		switch root, ok = step.apply(root, path.Steps()); {
		case !ok && isInHash(root, path.Steps()):
			return nil, fmt.Errorf("%s is in a value that history does not keep: %w", change.Path, ErrWhole)
		case !ok:
			return nil, &ConflictError{change.Path, entry.Number}
		}
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, ErrWhole
	}
	return object, nil
}

func decode(text []byte, hash *Hash) (any, error) {
	switch {
	case hash != nil:
		return *hash, nil
	case text == nil:
		return value.Absent{}, nil
	}
	var v any
	err := utiljson.Unmarshal(text, &v)
	return v, err
}

// reversion is the reverse of one change.
type reversion struct {
	change        Change
	before, after any
	known         known
}

// apply changes a value in place and returns it. The steps lead from the value to the field. It returns false if the field does not have
// the value after the change.
func (r reversion) apply(v any, steps []value.Step) (any, bool) {
	if len(steps) == 0 {
		return r.before, r.isAfter(v)
	}
	switch step := steps[0]; step.Kind {
	case value.Name:
		object, ok := v.(map[string]any)
		if !ok {
			return v, false
		}
		child, ok := r.apply(field(object, step.Name), steps[1:])
		if _, absent := child.(value.Absent); absent {
			delete(object, step.Name)
		} else {
			object[step.Name] = child
		}
		return object, ok
	case value.Item:
		list, ok := v.([]any)
		if !ok {
			return v, false
		}
		return r.applyItem(list, steps)
	}
	return v, false
}

func (r reversion) applyItem(list []any, steps []value.Step) (any, bool) {
	at := slices.IndexFunc(list, func(item any) bool { return value.Strict.EqualKeys(steps[0].Keys, item, steps[0].Value) })
	if at < 0 {
		item, ok := r.apply(value.Absent{}, steps[1:])
		if _, absent := item.(value.Absent); absent || !ok || r.change.Index == nil || *r.change.Index < 0 || *r.change.Index > len(list) {
			return list, false
		}
		return slices.Insert(list, *r.change.Index, item), true
	}
	item, ok := r.apply(list[at], steps[1:])
	if _, absent := item.(value.Absent); absent {
		return slices.Delete(list, at, at+1), ok
	}
	list[at] = item
	return list, ok
}

// isAfter reports whether a value is the one after the change. Either of them may be a Hash: a write of many fields keeps only smaller
// values than other writes, see [Bounds.Encode].
func (r reversion) isAfter(v any) bool {
	if hash, ok := r.after.(Hash); ok {
		r.known.add(hash, v)
		return hash.matches(v)
	}
	if !Matches(r.after, v) {
		return false
	}
	r.known.learn(r.after, v)
	return true
}

// isInHash reports whether a Hash stands for the value around a place.
func isInHash(v any, steps []value.Step) bool {
	for _, step := range steps {
		switch at := v.(type) {
		case Hash:
			return true
		case map[string]any:
			v = field(at, step.Name)
		case []any:
			item := indexOf(at, step)
			if item < 0 {
				return false
			}
			v = at[item]
		}
	}
	return false
}

// clone returns a copy that shares only scalars.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for name, child := range v {
			out[name] = clone(child)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i, child := range v {
			out[i] = clone(child)
		}
		return out
	}
	return v
}

// NotKept returns the paths of the values of a content that history does not keep, sorted.
func NotKept(content map[string]any) []string {
	paths := hashesIn(nil, nil, content)
	slices.Sort(paths)
	return paths
}

func hashesIn(paths []string, at *value.Path, v any) []string {
	switch v := v.(type) {
	case Hash:
		return append(paths, notation.Path(at))
	case map[string]any:
		for name, child := range v {
			paths = hashesIn(paths, at.Child(name), child)
		}
	case []any:
		for i, child := range v {
			paths = hashesIn(paths, at.Index(i), child)
		}
	}
	return paths
}
