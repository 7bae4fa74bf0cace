package watchcheck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/watchcheck"
)

// written are a few writes of one object, a, and of a second one, b, which is replaced at 105.
func written(t *testing.T) *history {
	t.Helper()
	h := &history{first: 100, truth: watchcheck.NewTruth(100, nil), states: []map[string]watchcheck.Object{{}}}
	for i, w := range []struct {
		key    string
		object watchcheck.Object
	}{
		{"/a", object("a", "1", "on", 1)},
		{"/b", object("b", "2", "on", 2)},
		{"/a", object("a", "1", "off", 3)},
		{"/a", object("a", "1", "on", 4)},
		{"/b", object("b", "3", "on", 5)},
		{"/a", nil},
	} {
		revision, state := uint64(101+i), map[string]watchcheck.Object{}
		for key, object := range h.states[i] {
			state[key] = object
		}
		if delete(state, w.key); w.object != nil {
			w.object = at(w.object, revision)
			state[w.key] = w.object
		}
		h.states = append(h.states, state)
		if err := h.truth.Add(revision, w.key, w.object); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func all(watchcheck.Object) bool { return true }

// watched returns what a right watch shows from revision 100 to 106.
func watched(h *history, selected func(watchcheck.Object) bool) []action {
	actions := []action{{kind: "list", revision: 100}, {kind: "watch", revision: 100}}
	for revision := uint64(101); revision <= 106; revision++ {
		actions = append(actions, h.events(revision, selected, false)...)
	}
	return append(actions, action{kind: "bookmark", revision: 106})
}

// Each case changes a right stream, which is, by index: list, watch, ADDED a 101, ADDED b 102, MODIFIED a 103, MODIFIED a 104,
// DELETED b 104, ADDED b 105, DELETED a 106, bookmark 106. The selected stream has DELETED a 103 and ADDED a 104.
func TestViolations(t *testing.T) {
	t.Parallel()
	change := func(index int, with ...action) func([]action) []action {
		return func(a []action) []action { return slices.Replace(a, index, index+1, with...) }
	}
	insert := func(index int, more ...action) func([]action) []action {
		return func(a []action) []action { return slices.Insert(a, index, more...) }
	}
	event := func(kind string, o watchcheck.Object, revision uint64) action {
		return action{kind, revision, []watchcheck.Object{at(o, revision)}}
	}
	for name, test := range map[string]struct {
		selected bool
		change   func([]action) []action
		want     []watchcheck.Rule
	}{
		"right":          {false, insert(0), nil},
		"right selected": {true, insert(0), nil},
		"swapped": {false, func(a []action) []action {
			a[3], a[4] = a[4], a[3]
			return a
		}, []watchcheck.Rule{watchcheck.Ordered}},
		"twice":                        {false, func(a []action) []action { return slices.Insert(a, 4, a[3]) }, []watchcheck.Rule{watchcheck.Unique}},
		"missing":                      {false, change(4), []watchcheck.Rule{watchcheck.Reliable}},
		"missing, then ends":           {false, func(a []action) []action { return slices.Delete(a, 4, 5)[:6] }, []watchcheck.Rule{watchcheck.Reliable}},
		"missing before a bookmark":    {false, insert(4, action{kind: "bookmark", revision: 103}), []watchcheck.Rule{watchcheck.Bookmarkable}},
		"invented":                     {false, insert(4, event("ADDED", object("c", "9", "on", 1), 103)), []watchcheck.Rule{watchcheck.Reliable}},
		"first missing after a resume": {false, func(a []action) []action { return slices.Replace(a, 4, 5, action{kind: "watch", revision: 102}) }, []watchcheck.Rule{watchcheck.Resumable}},
		"again after a resume":         {false, func(a []action) []action { return slices.Insert(a, 4, action{kind: "watch", revision: 102}, a[3]) }, []watchcheck.Rule{watchcheck.Resumable}},
		"right after a resume":         {false, insert(4, action{kind: "watch", revision: 102}), nil},
		"replacement again":            {false, func(a []action) []action { return slices.Insert(a, 7, action{kind: "watch", revision: 104}, a[6]) }, nil},
		"replacement without deletion": {false, insert(7, action{kind: "watch", revision: 104}), nil},
		"deletion of replacement lost": {false, change(6), []watchcheck.Rule{watchcheck.Reliable}},
		"addition of replacement lost": {false, change(7), []watchcheck.Rule{watchcheck.Reliable}},
		"bookmark in a replacement":    {false, insert(7, action{kind: "bookmark", revision: 104}), []watchcheck.Rule{watchcheck.Bookmarkable}},
		"replacement as a change": {false, func(a []action) []action {
			return slices.Replace(a, 6, 8, event("MODIFIED", object("b", "3", "on", 5), 105))
		}, []watchcheck.Rule{watchcheck.Content, watchcheck.Reliable}},
		"bookmark goes back":            {false, insert(8, action{kind: "bookmark", revision: 104}), []watchcheck.Rule{watchcheck.Bookmarkable}},
		"bookmark of the future":        {false, insert(10, action{kind: "bookmark", revision: 107}), []watchcheck.Rule{watchcheck.Bookmarkable}},
		"deletion with another object":  {false, change(8, event("DELETED", object("a", "1", "off", 3), 106)), []watchcheck.Rule{watchcheck.Previous}},
		"deletion with an old revision": {false, change(8, event("DELETED", object("a", "1", "on", 4), 104)), []watchcheck.Rule{watchcheck.Content, watchcheck.Bookmarkable}},
		"another object":                {false, change(4, event("MODIFIED", object("a", "1", "on", 3), 103)), []watchcheck.Rule{watchcheck.Content}},
		"another type":                  {false, change(4, event("ADDED", object("a", "1", "off", 3), 103)), []watchcheck.Rule{watchcheck.Content}},
		"unselected shown":              {true, change(4, event("MODIFIED", object("a", "1", "off", 3), 103)), []watchcheck.Rule{watchcheck.Filtered}},
		"selected again as a change":    {true, change(5, event("MODIFIED", object("a", "1", "on", 4), 104)), []watchcheck.Rule{watchcheck.Filtered}},
		"deselected with the new one":   {true, change(4, event("DELETED", object("a", "1", "off", 3), 103)), []watchcheck.Rule{watchcheck.Previous}},
		"list without an object":        {false, insert(9, action{kind: "list", revision: 105}), []watchcheck.Rule{watchcheck.Ordered, watchcheck.Reliable, watchcheck.Reliable, watchcheck.Bookmarkable}},
		"list with an old object": {
			false, insert(10, action{"list", 106, []watchcheck.Object{at(object("b", "2", "on", 2), 102)}}),
			[]watchcheck.Rule{watchcheck.Content},
		},
		"list with a deleted object": {false, insert(10, action{"list", 106, []watchcheck.Object{
			at(object("a", "1", "on", 4), 104), at(object("b", "3", "on", 5), 105),
		}}), []watchcheck.Rule{watchcheck.Reliable}},
		"list with an object twice": {false, insert(10, action{"list", 106, []watchcheck.Object{
			at(object("b", "3", "on", 5), 105), at(object("b", "3", "on", 5), 105),
		}}), []watchcheck.Rule{watchcheck.Unique}},
		"list of the future": {false, insert(10, action{kind: "list", revision: 107}), []watchcheck.Rule{watchcheck.Reliable}},
		"initial events": {false, insert(10, action{kind: "initial", revision: 103}, event("ADDED", object("a", "1", "on", 4), 104),
			event("ADDED", object("b", "2", "on", 2), 102), action{kind: "end", revision: 104}), nil},
		"initial events lack one": {
			false, insert(10, action{kind: "initial", revision: 106}, action{kind: "end", revision: 106}),
			[]watchcheck.Rule{watchcheck.Reliable},
		},
		"initial events of an old revision": {false, insert(10, action{kind: "initial", revision: 106}, event("ADDED", object("b", "3", "on", 5), 105),
			action{kind: "end", revision: 105}), []watchcheck.Rule{watchcheck.Bookmarkable, watchcheck.Reliable}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, stream, selected := written(t), &watchcheck.Stream{Name: "test"}, all
			if test.selected {
				stream.Selects, selected = matches, matches
			}
			report := record(h, stream, test.change(watched(h, selected)))
			var got []watchcheck.Rule
			var texts []string
			for _, v := range report.Violations {
				got, texts = append(got, v.Rule), append(texts, v.String())
				if len(v.Trace) == 0 {
					t.Errorf("no trace of %s", v)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("violations %v, want %v:\n%s", got, test.want, strings.Join(texts, "\n"))
			}
		})
	}
}
