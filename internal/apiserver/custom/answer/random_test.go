package answer

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// random makes random objects of a world.
type random struct {
	*rand.Rand
	world
	// count is the number of objects so far. It makes UIDs unique.
	count int
}

func newRandom(w world, seed uint64) *random {
	return &random{Rand: rand.New(rand.NewPCG(seed, seed)), world: w}
}

var words = []string{
	"", "a", "name", "LOG_LEVEL", "<b>&amp;", `"quoted" \ back`, "line\nbreak\ttab", "äöü", "日本語", "\u2028", "\U0001F6A2", "f:spec",
	"items", "kind", "metadata", "}", "]", "true", "0",
}

func (r *random) word() string { return words[r.IntN(len(words))] }

// value returns a random JSON value with at most some levels.
func (r *random) value(levels int) any {
	n := r.IntN(9)
	if levels == 0 {
		n = r.IntN(7)
	}
	switch n {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.Int64() - r.Int64()
	case 3:
		return []float64{0.5, -1e-9, 1e300, 1.25e21}[r.IntN(4)]
	case 4, 5, 6:
		return r.word()
	case 7:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = r.value(levels - 1)
		}
		return list
	}
	return r.content(levels - 1)
}

func (r *random) content(levels int) map[string]any {
	out := map[string]any{}
	for range r.IntN(5) {
		out[r.word()] = r.value(levels)
	}
	return out
}

func (r *random) strings() map[string]any {
	out := map[string]any{}
	for range r.IntN(4) {
		out["example.com/"+r.word()] = r.word()
	}
	return out
}

// ship returns a random object as a store holds it.
func (r *random) ship() *object.Object {
	r.count++
	metadata := map[string]any{
		"name": fmt.Sprint("ship-", r.count), "namespace": "default", "uid": fmt.Sprint("uid-", r.count),
		"resourceVersion": fmt.Sprint(r.IntN(1000) + 1), "creationTimestamp": "2026-11-15T02:00:00Z",
	}
	if r.IntN(2) == 0 {
		metadata["labels"], metadata["annotations"] = r.strings(), r.strings()
	}
	if r.IntN(2) == 0 {
		metadata["managedFields"] = []any{map[string]any{
			"manager": r.word(), "operation": "Update", "apiVersion": "sea.example.com/v1", "time": "2026-11-15T02:00:00Z",
			"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:" + r.word(): map[string]any{}}},
		}}
	}
	spec := r.content(3)
	spec["size"], spec["note"] = int64(r.IntN(100)), strings.Repeat(r.word(), r.IntN(20))
	obj := object.Of(map[string]any{"apiVersion": "sea.example.com/v1", "kind": "Ship", "metadata": metadata, "spec": spec})
	obj.Sets = r.sets
	r.v1.Conform(obj.Object)
	r.sets.Share(obj.Object)
	return obj
}

// list returns a list of random objects. Some lists are long enough to be compressed.
func (r *random) list(items int) *object.List {
	list := object.NewList(r.v1.ListKind())
	list.SetResourceVersion(fmt.Sprint(r.IntN(1000) + 1))
	if r.IntN(3) == 0 {
		left := r.Int64N(100)
		list.SetContinue(r.word() + "token")
		list.SetRemainingItemCount(&left)
	}
	size := 0
	if r.IntN(2) == 0 {
		size = (longAnswer + 8<<10) / max(items, 1)
	}
	list.Items = make([]object.Object, 0, items)
	for range items {
		ship := r.ship()
		if size > 0 {
			word := r.word() + "four"
			ship.SetAnnotations(map[string]string{"long": strings.Repeat(word, size/len(word)+1)})
		}
		list.Items = append(list.Items, *ship)
	}
	return list
}

// events returns events of all types with the objects of a list.
func (r *random) events(list *object.List) []watch.Event {
	var out []watch.Event
	for i := range list.Items {
		for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			out = append(out, watch.Event{Type: event, Object: &list.Items[i]})
		}
	}
	bookmark := object.New(r.v1.GroupVersionKind())
	bookmark.SetResourceVersion("9")
	return append(out, watch.Event{Type: watch.Bookmark, Object: bookmark})
}
