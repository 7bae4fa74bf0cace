package watchcheck_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/watchcheck"
)

// variants are the streams of the random tests.
var variants = map[string]struct {
	stream   watchcheck.Stream
	selected func(watchcheck.Object) bool
}{
	"objects":  {watchcheck.Stream{}, all},
	"metadata": {watchcheck.Stream{Form: watchcheck.Metadata}, all},
	"selected": {watchcheck.Stream{Selects: matches}, matches},
	"changes":  {watchcheck.Stream{AsChanges: true}, all},
}

// TestRandom checks right streams of random writes, and that each of some small changes to them is found.
func TestRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		checkSeed(t, seed)
	}
}

// FuzzRandom looks for a random stream that is judged wrongly.
func FuzzRandom(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(checkSeed)
}

func checkSeed(t *testing.T, seed uint64) {
	for name, v := range variants {
		random := rand.New(rand.NewPCG(seed, 0))
		h := write(random, 30)
		right := h.serve(random, v.selected, v.stream.AsChanges)
		stream := v.stream
		if report := record(h, &stream, right); len(report.Violations) > 0 {
			t.Fatalf("%s, seed %d: a right stream: %s", name, seed, report.Violations[0])
		}
		for what, wrong := range mutations(random, right) {
			stream := v.stream
			if report := record(h, &stream, wrong); len(report.Violations) == 0 {
				t.Fatalf("%s, seed %d: %s is not found:\n%s", name, seed, what, text(wrong))
			}
		}
	}
}

// mutations returns streams that differ from a right one in one place, where a client can see it.
func mutations(random *rand.Rand, right []action) map[string][]action {
	wrong := map[string][]action{}
	if i, ok := one(random, right, func(i int) bool { return right[i].kind == "list" && len(right[i].objects) > 0 }); ok {
		wrong["a list without an object"] = replaced(right, i, action{"list", right[i].revision, right[i].objects[1:]})
	}
	if i, ok := one(random, right, func(i int) bool { return isEvent(right[i]) && isInitial(right, i) }); ok {
		wrong["an initial event less"] = replaced(right, i)
	}
	i, ok := one(random, right, func(i int) bool {
		return isEvent(right[i]) && !isInitial(right, i) && !replayed(right, i) && (isEvent(right[i+1]) || right[i+1].kind == "bookmark")
	})
	if !ok {
		return wrong
	}
	event := right[i]
	wrong["an event less"] = replaced(right, i)
	wrong["an event twice"] = replaced(right, i, event, event)
	other := at(object("a", "other", "on", 0), event.revision)
	wrong["another object"] = replaced(right, i, action{event.kind, event.revision, []watchcheck.Object{other}})
	later := event.revision + 1
	wrong["another revision"] = replaced(right, i, action{event.kind, later, []watchcheck.Object{at(event.objects[0], later)}})
	wrong["a bookmark too early"] = replaced(right, i, action{kind: "bookmark", revision: later}, event)
	kinds := slices.DeleteFunc([]string{"ADDED", "MODIFIED", "DELETED"}, func(kind string) bool { return kind == event.kind })
	wrong["another type"] = replaced(right, i, action{kinds[random.IntN(2)], event.revision, event.objects})
	if isEvent(right[i+1]) {
		wrong["two events swapped"] = replaced(replaced(right, i, right[i+1]), i+1, event)
	}
	return wrong
}

// one returns one of the places that fit.
func one(random *rand.Rand, actions []action, fits func(int) bool) (int, bool) {
	var all []int
	for i := range actions {
		if fits(i) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return all[random.IntN(len(all))], true
}

func isEvent(a action) bool { return a.kind == "ADDED" || a.kind == "MODIFIED" || a.kind == "DELETED" }

// isInitial reports whether an event comes before the end of the initial events.
func isInitial(actions []action, i int) bool {
	for i--; i >= 0 && isEvent(actions[i]); i-- {
	}
	return i >= 0 && actions[i].kind == "initial"
}

// replayed reports whether a watch resumes between the two events of a replacement right before an event. It may show the deletion again or not.
func replayed(actions []action, i int) bool {
	return i >= 2 && actions[i-1].kind == "watch" && actions[i-2].kind == "DELETED" && actions[i-2].revision == actions[i-1].revision
}

func replaced(actions []action, i int, with ...action) []action {
	return slices.Concat(actions[:i], with, actions[i+1:])
}

// text returns the actions, one in a line.
func text(actions []action) string {
	var lines []string
	for _, a := range actions {
		line := fmt.Sprint(a.kind, " ", a.revision)
		for _, o := range a.objects {
			line += fmt.Sprint(" ", watchcheck.KeyOf(o), "@", watchcheck.RevisionOf(o))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
