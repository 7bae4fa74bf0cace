package fields

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// maxManagers is the number of entries of the largest managed fields that are handled without the library. The work for them
	// grows faster than their number, and a client can send thousands.
	maxManagers = 32
	// maxUpdaters is the number of entries for updates that the library leaves as they are. It merges the oldest of more.
	maxUpdaters = 10
	// longestManager is the length of the longest name of a manager, in bytes.
	longestManager = 128
)

// isPlainManager reports whether the library records the name of a manager as it is.
func isPlainManager(name string) bool {
	return name != "" && len(name) <= longestManager && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
}

// fieldManagers are the managed fields of an object.
type fieldManagers struct {
	entries []any
	// writing is the index of the entry of the manager that writes.
	writing int
	// own is the set of fields of that manager.
	own map[string]any
	// others are the sets of fields of all other managers.
	others []map[string]any
}

// writer identifies the manager of a write in the managed fields.
type writer struct {
	manager   string
	operation string
	// subresource is empty for a write to the object itself.
	subresource string
}

// The operations in managed fields.
const (
	applies = "Apply"
	updates = "Update"
)

// owns reports whether an entry is that of the writer.
func (w writer) owns(entry map[string]any) bool {
	return entry["manager"] == w.manager && entry["operation"] == w.operation && textAt(entry, "subresource") == w.subresource
}

// managersOf returns the managed fields of an object. It returns false if the writer has no entry yet, if an entry is
// not one that the library writes for this version, or if there are too many.
func managersOf(obj map[string]any, apiVersion string, w writer) (fieldManagers, bool) {
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	found := fieldManagers{entries: entries}
	if len(entries) > maxManagers {
		return found, false
	}
	updaters := 0
	for i, item := range entries {
		entry, _ := item.(map[string]any)
		if entry["operation"] == updates {
			updaters++
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		if len(fields) == 0 || entry["apiVersion"] != apiVersion || !isUsualEntry(entry) {
			return found, false
		}
		if w.owns(entry) {
			found.writing, found.own = i, fields
			continue
		}
		found.others = append(found.others, fields)
	}
	isOrdered := slices.IsSortedFunc(entries, byAge)
	for i := 1; i < len(entries) && isOrdered; i++ {
		// Entries of one manager would be merged.
		for _, earlier := range entries[:i] {
			isOrdered = isOrdered && !isSameManager(earlier, entries[i])
		}
	}
	return found, found.own != nil && isOrdered && updaters <= maxUpdaters
}

// after returns the entries after a write with a number of changes.
func (m fieldManagers) after(changes int) []any {
	if changes == 0 {
		return m.entries
	}
	entries := slices.Clone(m.entries)
	entry, _ := entries[m.writing].(map[string]any)
	entry = maps.Clone(entry)
	entry["time"] = now()
	entries[m.writing] = entry
	slices.SortFunc(entries, byAge)
	return entries
}

// now returns the time as the library writes it.
func now() string { return time.Now().UTC().Format(time.RFC3339) }

// isUsualEntry reports whether an entry has only the fields that the library writes.
func isUsualEntry(entry map[string]any) bool {
	for key, v := range entry {
		text, isText := v.(string)
		switch key {
		case "manager", "apiVersion", "subresource":
			if !isText || text == "" {
				return false
			}
		case "operation":
			if v != applies && v != updates {
				return false
			}
		case "fieldsType":
			if v != "FieldsV1" {
				return false
			}
		case "time":
			// The times of the library are in UTC, in seconds, so that their texts have the order of the times.
			if len(text) != len("2006-01-02T15:04:05Z") || !strings.HasSuffix(text, "Z") {
				return false
			}
		case "fieldsV1":
		default:
			return false
		}
	}
	return entry["operation"] != nil && entry["fieldsType"] != nil
}

// byAge compares two entries in the order of the library.
func byAge(a, b any) int {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, key := range []string{"operation", "time", "manager", "apiVersion", "subresource"} {
		if n := cmp.Compare(textAt(x, key), textAt(y, key)); n != 0 {
			return n
		}
	}
	return 0
}

func isSameManager(a, b any) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	return x["manager"] == y["manager"] && x["operation"] == y["operation"] && x["subresource"] == y["subresource"]
}

func textAt(entry map[string]any, key string) string {
	text, _ := entry[key].(string)
	return text
}
