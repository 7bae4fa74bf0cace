package fieldhistory

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"holdfast.dev/holdfast/value"
)

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
