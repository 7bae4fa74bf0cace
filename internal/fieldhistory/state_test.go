package fieldhistory_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/value"
)

// recorded is the history of an object, and its states: the one before the first entry, and one after each.
type recorded struct {
	entries []fieldhistory.Entry
	states  []map[string]any
}

func (h *recorded) last() map[string]any { return h.states[len(h.states)-1] }

// record returns the history of an object with these states. Each write keeps values up to one of the limits.
func record(options fieldhistory.Options, states []map[string]any, limits ...int) *recorded {
	h := &recorded{states: states[:1]}
	for i, state := range states[1:] {
		options.Limit = limits[i%len(limits)]
		h.entries = append(h.entries, fieldhistory.Entry{
			Number: int64(i + 8), Operation: fieldhistory.Update, APIVersion: "v1", Changes: fieldhistory.Diff(h.last(), state, options),
		})
		h.states = append(h.states, state)
	}
	return h
}

// Every state of a history can be computed, also if the writes keep values of other sizes.
func TestState(t *testing.T) {
	lists := pods(t)
	resolved := 0
	for seed := range uint64(120) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		var states []map[string]any
		for range 8 {
			states = append(states, r.pod())
		}
		states = append(states, states[2], states[4]) // values come back
		h := record(fieldhistory.Options{Lists: lists}, states, []int{8000, 60, 0}[:1+seed%3]...)
		for i, want := range h.states {
			got, err := fieldhistory.State(h.last(), h.entries, int64(i+7))
			if errors.Is(err, fieldhistory.ErrWhole) {
				continue
			}
			if err != nil {
				t.Fatalf("seed %d, state %d: %v", seed, i, err)
			}
			if !fieldhistory.Matches(want, got) {
				t.Errorf("seed %d, state %d is %v, want %v", seed, i, got, want)
			}
			if i == 4 && len(fieldhistory.NotKept(got)) == 0 && seed%3 > 0 {
				resolved++
			}
		}
	}
	if resolved < 12 {
		t.Errorf("only %d states have all values, although the last state has them too", resolved)
	}
}

// A value that history has only as a hash is known if another state of the object has it.
func TestStateKnowsValuesOfOtherStates(t *testing.T) {
	seal := fieldhistory.Seal{Key: []byte("key"), UID: "one"}
	seals := func(texts ...string) (states, sealed []map[string]any) {
		for _, text := range texts {
			states = append(states, object(t, text))
			sealed = append(sealed, seal.Secret(states[len(states)-1]))
		}
		return states, sealed
	}
	states, sealed := seals("{data: {a: aGk=}}", "{data: {a: bm8=}}", "{data: {a: aGk=}}", "{data: {renamed: aGk=}, type: x}")
	h := record(fieldhistory.Options{}, sealed, 8000)
	for i, want := range []string{"", ".data.a", "", ""} {
		got, err := fieldhistory.State(states[3], h.entries, int64(i+7))
		if err != nil {
			t.Fatal(err)
		}
		if kept := strings.Join(fieldhistory.NotKept(got), " "); kept != want {
			t.Errorf("state %d: %q is not kept, want %q", i, kept, want)
		}
		if want == "" && !cmp.Equal(states[i], got) {
			t.Errorf("state %d is %v, want %v", i, got, states[i])
		}
	}
	// The first write keeps a value that the second one does not keep.
	long := "{data: {a: '" + strings.Repeat("x", 100) + "'}}"
	states = []map[string]any{object(t, "{data: {}}"), object(t, long), object(t, "{data: {a: z}}")}
	h = record(fieldhistory.Options{}, states, 8000, 10)
	if got, err := fieldhistory.State(states[2], h.entries, 8); err != nil || !cmp.Equal(states[1], got) {
		t.Errorf("the state is %v, want %v (%v)", got, states[1], err)
	}
}

func TestStateRefuses(t *testing.T) {
	h := record(fieldhistory.Options{Limit: 100}, []map[string]any{object(t, "{a: 1}"), object(t, "{a: 2}"), object(t, "{a: 3}")}, 100)
	for name, test := range map[string]struct {
		change func(entries []fieldhistory.Entry)
		number int64
		want   string
	}{
		"too late":        {nil, 10, "does not have the state after the entry 10: it has those after the entries 7 to 9"},
		"too early":       {nil, 6, "does not have the state after the entry 6: it has those after the entries 7 to 9"},
		"another version": {func(e []fieldhistory.Entry) { e[0].APIVersion = "v2" }, 7, "the entries up to 8 are in the version v2 of the API, and those after it in v1"},
		"too large":       {func(e []fieldhistory.Entry) { e[1].Truncated = true }, 8, "entry 9: history does not say what has changed"},
		"a write is missing": {
			func(e []fieldhistory.Entry) { e[0].Changes[0].To = []byte("5") }, 7, "entry 8: .a does not have the value that it had after",
		},
	} {
		t.Run(name, func(t *testing.T) {
			entries := append([]fieldhistory.Entry{}, h.entries...)
			for i := range entries {
				entries[i].Changes = append([]fieldhistory.Change{}, entries[i].Changes...)
			}
			if test.change != nil {
				test.change(entries)
			}
			if _, err := fieldhistory.State(h.last(), entries, test.number); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	if _, err := fieldhistory.State(h.last(), nil, 0); err == nil {
		t.Error("a history without entries has a state")
	}
	h.entries[0].Operation, h.entries[0].Changes = fieldhistory.Create, nil
	if got, err := fieldhistory.State(h.last(), h.entries, 7); err != nil || got != nil {
		t.Errorf("before its creation the object was %v (%v)", got, err)
	}
}

func TestLastChange(t *testing.T) {
	var states []map[string]any
	for _, text := range []string{
		"{spec: {a: 1, containers: [{name: x, image: one}]}}",
		"{spec: {a: 2, containers: [{name: x, image: one}]}}",
		"{spec: {a: 2, containers: [{name: w}, {name: x, image: two}]}}",
		"{spec: {a: 2, containers: [{name: x, image: two}, {name: w}], b: {c: 1}}}",
	} {
		states = append(states, object(t, text))
	}
	h := record(fieldhistory.Options{Lists: pods(t)}, states, 8000)
	for path, want := range map[string]int64{
		".spec.a":                              8,
		".spec.containers[name=\"x\"].image":   9,
		".spec.containers[name=w]":             9,
		".spec.containers":                     10,
		".spec.b.c":                            10,
		".spec":                                10,
		".spec.containers[name=\"x\"].command": 0,
	} {
		entry, err := fieldhistory.LastChange(h.last(), h.entries, parsed(t, path))
		if err != nil || entry.Number != want {
			t.Errorf("%s was last changed by the entry %d, want %d (%v)", path, entry.Number, want, err)
		}
	}
}

func parsed(t *testing.T, text string) *value.Path {
	t.Helper()
	path, err := value.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWith(t *testing.T) {
	for name, test := range map[string]struct{ content, other, path, want, wantErr string }{
		"a scalar":          {"{spec: {a: 1, b: 1}}", "{spec: {a: 2, b: 2}}", ".spec.a", "{spec: {a: 2, b: 1}}", ""},
		"null":              {"{spec: {a: 1}}", "{spec: {a: null}}", ".spec.a", "{spec: {a: null}}", ""},
		"goes":              {"{spec: {a: 1, b: 1}}", "{spec: {}}", ".spec.a", "{spec: {b: 1}}", ""},
		"neither has it":    {"{spec: {b: 1}}", "{}", ".spec.a.x", "{spec: {b: 1}}", ""},
		"with its parents":  {"{}", "{metadata: {labels: {x: z, other: o}}}", ".metadata.labels.x", "{metadata: {labels: {x: z}}}", ""},
		"an item":           {"{l: [{name: a, v: 1}]}", "{l: [{name: b}, {name: a, v: 2}]}", ".l[name=a].v", "{l: [{name: a, v: 2}]}", ""},
		"a new item":        {"{l: [{name: a}]}", "{l: [{name: b}, {name: a, v: 2}]}", ".l[name=b]", "{l: [{name: b}, {name: a}]}", ""},
		"the first item":    {"{}", "{l: [{name: a}, {name: b}]}", ".l[name=b]", "{l: [{name: b}]}", ""},
		"an item goes":      {"{l: [{name: a}, {name: b}]}", "{}", ".l[name=a]", "{l: [{name: b}]}", ""},
		"a member":          {"{l: [x]}", "{l: [x, z]}", `.l[="z"]`, "{l: [x, z]}", ""},
		"without the item":  {"{l: []}", "{l: [{name: a, v: 1}]}", ".l[name=a].v", "", `[name="a"]: the object does not have the value around it`},
		"inside of a text":  {"{a: x}", "{a: {b: 1}}", ".a.b", "", "b: the object does not have the value around it"},
		"several items":     {"{l: [{p: 1, q: 1}, {p: 1, q: 2}]}", "{l: [{p: 1, q: 1}]}", ".l[p=1]", "", "[p=1] names several items: name all keys"},
		"several had there": {"{l: []}", "{l: [{p: 1, q: 1}, {p: 1, q: 2}]}", ".l[p=1]", "", "[p=1] names several items: name all keys"},
	} {
		t.Run(name, func(t *testing.T) {
			content, other := object(t, test.content), object(t, test.other)
			got, err := fieldhistory.With(content, other, parsed(t, test.path))
			if test.wantErr != "" {
				if err == nil || err.Error() != test.wantErr {
					t.Errorf("error %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, test.want), got); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if !value.Strict.Equal(fieldhistory.At(got, parsed(t, test.path)), fieldhistory.At(other, parsed(t, test.path))) {
				t.Error("the value is not that of the other content")
			}
			if !cmp.Equal(content, object(t, test.content)) || !cmp.Equal(other, object(t, test.other)) {
				t.Error("With changed its arguments")
			}
		})
	}
}

func TestTouches(t *testing.T) {
	for name, test := range map[string]struct {
		change, field string
		want          bool
	}{
		"the field":    {".spec.replicas", ".spec.replicas", true},
		"a part":       {".spec.a.b", ".spec.a", true},
		"around":       {".spec", ".spec.a", true},
		"another":      {".spec.b", ".spec.a", false},
		"an item":      {`.l[name="a"].v`, ".l[name=a]", true},
		"another item": {`.l[name="b"].v`, ".l[name=a]", false},
		"fewer keys":   {`.l[port=80,protocol="TCP"].v`, ".l[port=80]", true},
		"in a list":    {`.l`, ".l[name=a]", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (fieldhistory.Change{Path: test.change}).Touches(parsed(t, test.field)); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// History goes back across a change of the version in which the object is stored, if an entry says how the one content becomes the other.
func TestStateOfEarlierVersion(t *testing.T) {
	states := []map[string]any{object(t, "{name: one}"), object(t, "{name: two}"), object(t, "{title: two}"), object(t, "{title: three}")}
	h := record(fieldhistory.Options{}, states, 8000)
	h.entries[1].Operation, h.entries[1].PreviousVersion, h.entries[1].APIVersion = fieldhistory.Convert, "v1", "v2"
	h.entries[2].APIVersion = "v2"
	for i, version := range []string{"v1", "v1", "v2", "v2"} {
		number := int64(i + 7)
		got, err := fieldhistory.State(h.last(), h.entries, number)
		if err != nil || !cmp.Equal(states[i], got) || fieldhistory.VersionOf(h.entries, number) != version {
			t.Errorf("state %d is %v in %s, %v", number, got, fieldhistory.VersionOf(h.entries, number), err)
		}
	}
	if got := fieldhistory.VersionOf(h.entries[1:], 8); got != "v1" {
		t.Errorf("the state before the change of the version is in %s", got)
	}
	_, err := fieldhistory.LastChange(h.last(), h.entries, value.NewPath(value.Step{Name: "name"}))
	var version *fieldhistory.VersionError
	if !errors.As(err, &version) || version.Number != 8 || version.Earlier != "v1" || version.Later != "v2" {
		t.Errorf("the last change of a field of the earlier version: %v", err)
	}
}
