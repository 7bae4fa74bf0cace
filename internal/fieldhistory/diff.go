package fieldhistory

import (
	"encoding/json"
	"slices"
	"strconv"

	"holdfast.dev/holdfast/ownership"
	"holdfast.dev/holdfast/value"
)

// Options say how Diff divides a difference into changes.
type Options struct {
	// Lists says which lists are compared item by item, by keys. Other lists are one value.
	Lists ownership.Lists
	// Limit is the largest size of a value as JSON. Of a larger map or list with keys, Diff writes one change for each of its parts; a
	// larger scalar or other list becomes a Hash.
	Limit int
	// Most is the largest sum of the sizes of the paths and values. Diff stops at more, see Bounds.Encode. Zero is no bound.
	Most int
}

// Diff returns the changes that lead from one content to another. A nil content is that of an object that does not exist.
func Diff(before, after map[string]any, options Options) []Change {
	changes, _ := diff(before, after, options)
	return changes
}

// diff is Diff. ok is false if the changes are larger than options.Most, and not complete.
func diff(before, after map[string]any, options Options) (changes []Change, ok bool) {
	d := differ{Options: options}
	if before == nil {
		before = map[string]any{}
	}
	if after == nil {
		after = map[string]any{}
	}
	d.objects(place{lists: options.Lists}, before, after)
	return d.changes, !d.isFull()
}

// differ collects changes.
type differ struct {
	Options
	changes []Change
	// size is the sum of the sizes of the paths and values.
	size int
}

// isFull reports whether the changes are larger than they may be.
func (d *differ) isFull() bool { return d.Most > 0 && d.size > d.Most }

func (d *differ) compare(p place, before, after any) {
	if d.isFull() {
		return
	}
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			d.objects(p, before, after)
			return
		}
	case []any:
		if after, ok := after.([]any); ok && d.items(p, before, after) {
			return
		}
	}
	if !value.Strict.Equal(before, after) {
		d.replace(p, before, after)
	}
}

func (d *differ) objects(p place, before, after map[string]any) {
	if value.SameObject(before, after) {
		return
	}
	var names []string
	for name, v := range before {
		if other, ok := after[name]; !ok || !value.Strict.Equal(v, other) {
			names = append(names, name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	if !d.hasPlaceFor(names) {
		d.size = d.Most + 1
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if !p.field(name).isReadable() {
			d.whole(p, before, after)
			return
		}
	}
	for _, name := range names {
		d.compare(p.field(name), field(before, name), field(after, name))
	}
}

// hasPlaceFor reports whether the changes of fields with these names may be small enough: each of them has a path with the name.
func (d *differ) hasPlaceFor(names []string) bool {
	size := d.size
	for _, name := range names {
		size += len(name)
	}
	return d.Most == 0 || size <= d.Most
}

func field(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	return value.Absent{}
}

// replace writes the change of a value that is not compared any further.
func (d *differ) replace(p place, before, after any) {
	_, isNew := before.(value.Absent)
	_, isGone := after.(value.Absent)
	switch {
	case isNew:
		d.add(p, after)
	case isGone:
		d.remove(p, before)
	case d.isDivided(p, before) || d.isDivided(p, after):
		d.remove(p, before)
		d.add(p, after)
	default:
		d.whole(p, before, after)
	}
}

// whole writes the change of a value that is not divided.
func (d *differ) whole(p place, before, after any) { d.write(p, before, after, d.Limit) }

// write writes one change, with the values that are not larger than a limit.
func (d *differ) write(p place, before, after any, limit int) {
	// The caller has checked that the text can be read back.
	text, _ := p.text()
	change := Change{Path: text, Index: p.index}
	change.From, change.FromHash = encode(before, limit)
	change.To, change.ToHash = encode(after, limit)
	d.size += len(text) + len(change.From) + len(change.To)
	d.changes = append(d.changes, change)
}

func encode(v any, limit int) (json.RawMessage, *Hash) {
	switch v := v.(type) {
	case value.Absent:
		return nil, nil
	case Hash:
		return nil, &v
	}
	text := textOfValue(v)
	if len(text) > limit {
		hash := hashOf(text)
		return nil, &hash
	}
	return text, nil
}

// textOfValue returns a value as JSON.
func textOfValue(v any) json.RawMessage {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case bool:
		return strconv.AppendBool(nil, v)
	}
	// A value of an object has a JSON encoding.
	text, _ := json.Marshal(v)
	return text
}
