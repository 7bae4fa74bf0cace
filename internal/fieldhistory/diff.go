package fieldhistory

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// maxText is the largest length of the text of a path, and maxName that of a name in it. Diff takes the object or the list around a
// longer one as one value, because the text could not be read back.
const (
	maxText = 900
	maxName = 320
)

// maxSteps is the largest number of steps of a path. Diff compares the values around a field too, once for each step, so a value that a
// client has nested deeply must not be compared as often as it has levels.
const maxSteps = 64

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

// place is a place in both contents.
type place struct {
	path  *value.Path
	lists ownership.Lists
	// index is the position of an item of a list that only one of the contents has.
	index *int
	// steps is the number of steps of the path, and most the largest size that its text can have.
	steps, most int
}

func (p place) field(name string) place {
	return place{path: p.path.Child(name), lists: p.lists.Field(name), steps: p.steps + 1, most: p.most + maxEscaped*len(name) + len(`[""]`)}
}

func (p place) item(index int, v any) place {
	step := value.Step{Kind: value.Item, Keys: p.lists.Keys(), Value: v}
	return place{path: p.path.Append(step), lists: p.lists.Item(), index: &index, steps: p.steps + 1, most: maxText + 1}
}

// maxEscaped is the largest size of a character of a name in the text of a path, for each of its bytes.
const maxEscaped = 6

// isReadable reports whether the text of the path of a field can be read back. It builds the text of long paths only.
func (p place) isReadable() bool {
	last := p.path.Last()
	if last.Kind == value.Name && p.most <= maxText && p.steps <= maxSteps && len(last.Name) <= maxName {
		return utf8.ValidString(last.Name) && !strings.Contains(last.Name, "…")
	}
	_, ok := p.text()
	return ok
}

// text returns the text of the path. ok is false if it cannot be read back.
func (p place) text() (text string, ok bool) {
	last := p.path.Last()
	if p.steps > maxSteps {
		return "", false
	}
	if last.Kind == value.Name && (len(last.Name) > maxName || !utf8.ValidString(last.Name)) {
		return "", false
	}
	text = notation.Path(p.path)
	return text, len(text) <= maxText && !strings.Contains(text, "…")
}

// notation writes paths so that value.ParsePath reads them back.
var notation = value.Notation{LeadingDot: true, Values: value.Printer{Limit: maxText, LiteralHTML: true}}

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

// items compares two lists by the keys of their items. It returns false if that is not possible: if an item does not have all keys, if
// two have the same, or if items that both lists have are in another order.
func (d *differ) items(p place, before, after []any) bool {
	old, okOld := itemsOf(p, before)
	updated, ok := itemsOf(p, after)
	if !okOld || !ok {
		return false
	}
	var common []string
	for _, text := range old.texts {
		if _, both := updated.at[text]; both {
			common = append(common, text)
		}
	}
	i := 0
	for _, text := range updated.texts {
		if _, both := old.at[text]; !both {
			continue
		}
		if common[i] != text {
			return false
		}
		i++
	}
	for i := len(before) - 1; i >= 0; i-- {
		if _, both := updated.at[old.texts[i]]; !both {
			d.remove(p.item(i, before[i]), before[i])
		}
	}
	for i, text := range updated.texts {
		at, both := old.at[text]
		if !both {
			d.add(p.item(i, after[i]), after[i])
			continue
		}
		below := p.item(i, after[i])
		below.index = nil
		d.compare(below, before[at], after[i])
	}
	return true
}

// keyedItems are the items of a list by the texts of their paths.
type keyedItems struct {
	texts []string
	at    map[string]int
}

func itemsOf(p place, list []any) (keyedItems, bool) {
	keys := p.lists.Keys()
	items := keyedItems{make([]string, len(list)), make(map[string]int, len(list))}
	for i, v := range list {
		object, isObject := v.(map[string]any)
		if !isObject || len(keys) == 0 {
			return items, false
		}
		for _, key := range keys {
			switch object[key].(type) {
			case string, bool, int64:
			default:
				return items, false
			}
		}
		text, ok := p.item(i, v).text()
		if _, twice := items.at[text]; twice || !ok {
			return items, false
		}
		items.texts[i], items.at[text] = text, i
	}
	return items, len(keys) > 0
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

// isDivided reports whether each part of a value gets a change of its own.
func (d *differ) isDivided(p place, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			if !p.field(name).isReadable() {
				return false
			}
		}
		return len(v) > 0 && d.isLarge(v)
	case []any:
		_, ok := itemsOf(p, v)
		return ok && len(v) > 0 && d.isLarge(v)
	}
	return false
}

func (d *differ) isLarge(v any) bool {
	if hasHash(v) || leastSize(v, d.Limit) > d.Limit {
		return true
	}
	// A value of an object has a JSON encoding.
	text, _ := json.Marshal(v)
	return len(text) > d.Limit
}

// leastSize returns a number that the size of the JSON of a value is not smaller than. It stops at a limit, so that it does not read all of
// a large value.
func leastSize(v any, limit int) int {
	size := 1
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case map[string]any:
		for name, child := range v {
			if size > limit {
				break
			}
			size += len(name) + 3 + leastSize(child, limit-size)
		}
	case []any:
		for _, child := range v {
			if size > limit {
				break
			}
			size += 1 + leastSize(child, limit-size)
		}
	}
	return size
}

// remove writes the changes that remove a value: first those of its parts, if it is divided, and then that of the rest.
func (d *differ) remove(p place, v any) {
	if d.isFull() {
		return
	}
	limit := d.Limit
	if d.isDivided(p, v) {
		limit = math.MaxInt
		switch parts := v.(type) {
		case map[string]any:
			rest := p.identity(parts)
			for _, name := range slices.Sorted(maps.Keys(parts)) {
				if _, isKey := rest[name]; !isKey {
					d.remove(p.field(name), parts[name])
				}
			}
			v = rest
		case []any:
			for i := len(parts) - 1; i >= 0; i-- {
				d.remove(p.item(i, parts[i]), parts[i])
			}
			v = []any{}
		}
	}
	d.write(p, v, value.Absent{}, limit)
}

// add is the reverse of remove.
func (d *differ) add(p place, v any) {
	if d.isFull() {
		return
	}
	if !d.isDivided(p, v) {
		d.whole(p, value.Absent{}, v)
		return
	}
	switch parts := v.(type) {
	case map[string]any:
		first := p.identity(parts)
		d.write(p, value.Absent{}, first, math.MaxInt)
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			if _, isKey := first[name]; !isKey {
				d.add(p.field(name), parts[name])
			}
		}
	case []any:
		d.write(p, value.Absent{}, []any{}, math.MaxInt)
		for i, part := range parts {
			d.add(p.item(i, part), part)
		}
	}
}

// identity returns the fields by which the object at a place is found: the keys of an item, and nothing for others.
func (p place) identity(object map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range p.path.Last().Keys {
		out[key] = object[key]
	}
	return out
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
