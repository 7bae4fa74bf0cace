package guard

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestTable checks that every constraint is written in every way, that each step has one write that is no dry run, and that each way is
// it for some step.
func TestTable(t *testing.T) {
	trial := newTrial(t.TempDir(), Settings{})
	entries, ways, real := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, row := range tableRows() {
		entries[row.entry] = true
		rule := &tableRules{name: "row", kind: row.kind, rules: row.rules}
		last := map[string]int{}
		for _, c := range trial.changes(&row, rule) {
			way, _, _ := strings.Cut(c.what, " of "+row.fields[0].path[0])
			ways[way] = true
			if !c.dryRun {
				real[way] = true
				last[nameOf(c.before)]++
			}
		}
		for name, writes := range last {
			if writes != 1 {
				t.Errorf("%s %s: %d writes are no dry runs", row.entry, name, writes)
			}
		}
		if len(row.fields) == 0 {
			if found := len(trial.deletions(&row, rule)); found < 12 {
				t.Errorf("%s: %d ways to delete", row.entry, found)
			}
		}
	}
	for _, constraint := range tableConstraints {
		if !entries[constraint] {
			t.Errorf("%s is not in the table", constraint)
		}
	}
	if len(ways) != 12 || len(real) != len(ways) {
		t.Errorf("ways %q, not as dry runs %q", slices.Sorted(maps.Keys(ways)), slices.Sorted(maps.Keys(real)))
	}
}

// TestWayRequest checks the requests of a change that removes a key.
func TestWayRequest(t *testing.T) {
	obj := func(data object) object { return object{"metadata": object{"name": "a"}, "data": data} }
	change := []fieldChange{{[]string{"data"}, step{object{"k": "1", "l": "1"}, object{"k": "1"}}}}
	for name, want := range map[string]string{
		"PUT": text(obj(object{"k": "1"})), "merge patch": `{"data":{"k":"1","l":null}}`, "strategic merge patch": `{"data":{"k":"1","l":null}}`,
		"JSON patch": `[{"op":"add","path":"/data","value":{"k":"1"}}]`, "apply": text(obj(object{"k": "1"})),
	} {
		for _, w := range configMapKind.ways() {
			if w.name != name {
				continue
			}
			r := w.request(obj(object{"k": "1", "l": "1"}), obj(object{"k": "1", "l": "1"}), change)
			if got := text(r.body); got != want || r.path != "/a" || (r.method == http.MethodPut) != (name == "PUT") {
				t.Errorf("%s: %s %s %s, want %s", name, r.method, r.path, got, want)
			}
		}
	}
}
