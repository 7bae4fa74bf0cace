package answer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// BenchmarkForms compares both forms with 500 objects of 15 KB whose texts are cached. It measures the handler of the library with the
// encoder, and no network.
func BenchmarkForms(b *testing.B) {
	w := newWorld(b)
	list := object.NewList(w.v1.ListKind())
	for i := range 500 {
		list.Items = append(list.Items, *w.fleet(i))
	}
	from := stored{list: list}
	for i := range list.Items {
		from.events = append(from.events, watch.Event{Type: watch.Added, Object: &list.Items[i]})
	}
	for _, name := range []string{"get", "list", "list, gzip", "list as a table", "list metadata", "watch"} {
		for form, with := range map[string]form{"quick": newQuick(w.format), "plain": plain{}} {
			b.Run(name+"/"+form, func(b *testing.B) {
				e := w.endpoint(b, w.v1, with)
				from.TableConvertor = e.scope.TableConvertor
				e.send(b, queries[name].query, from, discard{})
				b.ReportAllocs()
				for b.Loop() {
					e.send(b, queries[name].query, from, discard{})
				}
			})
		}
	}
}

// discard is the writer of an answer that no client reads.
type discard http.Header

func (d discard) Header() http.Header          { return http.Header(d) }
func (discard) Write(data []byte) (int, error) { return len(data), nil }
func (discard) WriteHeader(int)                {}
func (discard) Flush()                         {}

// BenchmarkFor measures what the scope of a GET costs.
func BenchmarkFor(b *testing.B) {
	w := newWorld(b)
	reads := w.endpoint(b, w.v1, newQuick(w.format)).reads
	req, answer := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		reads.For(answer, req, "get")
	}
}

// fleet returns an object of 15 KB.
func (w world) fleet(i int) *object.Object {
	containers, owned := make([]any, 60), map[string]any{}
	for c := range containers {
		name := fmt.Sprintf("container-%d-%d", i, c)
		containers[c] = map[string]any{
			"name": name, "image": "registry.example.com/fleet/" + name + ":v1.2.3", "replicas": int64(c), "ready": true,
			"resources": map[string]any{"cpu": "100m", "memory": "128Mi"},
		}
		owned[fmt.Sprintf(`k:{"name":"container-%d"}`, c)] = map[string]any{
			"f:image": map[string]any{}, "f:replicas": map[string]any{}, "f:resources": map[string]any{"f:cpu": map[string]any{}},
		}
	}
	obj := w.ship(fmt.Sprint("uid-", i), fmt.Sprint(i+1))
	obj.SetName(fmt.Sprint("fleet-", i))
	obj.Object["spec"] = map[string]any{"size": int64(i), "note": "a fleet", "containers": containers}
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata["managedFields"] = []any{map[string]any{
		"manager": "kubectl", "operation": "Update", "apiVersion": "sea.example.com/v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:containers": owned}},
	}}
	obj.Sets = w.sets
	w.sets.Share(obj.Object)
	return obj
}
