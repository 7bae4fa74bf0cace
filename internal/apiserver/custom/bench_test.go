package custom_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// BenchmarkFleet measures requests of one client for an object of 200 fields and 6 KB
// with CEL rules, through the whole server. cpu-ns/op is the processor time of the whole
// process: the server, its etcd and the client, which needs very little.
func BenchmarkFleet(b *testing.B) {
	const group = "fleet.bench.example.com"
	path := defineFleets(b, group, false)
	created := &reply{body: asJSON(b, fleet(group, "NAME", 3))}
	applied := &reply{body: asJSON(b, fleet(group, "apply", 3))}
	requests := map[string]func(n int, last *reply) request{
		"create": func(n int, _ *reply) request {
			return request{method: "POST", path: path, body: created.named(n)}
		},
		"get": func(int, *reply) request { return request{method: "GET", path: path + "/get"} },
		"update": func(n int, last *reply) request {
			return request{method: "PUT", path: path + "/update", body: last.changed(n)}
		},
		"patch": func(n int, _ *reply) request {
			body := fmt.Sprintf(`{"spec":{"store":{"replicas":%d},"cache":{"paused":%t}}}`, n%20, n%2 == 0)
			return request{method: "PATCH", path: path + "/patch", media: "application/merge-patch+json", body: []byte(body)}
		},
		"apply": func(n int, _ *reply) request {
			return request{
				method: "PATCH", path: path + "/apply?fieldManager=bench&force=true",
				media: "application/apply-patch+yaml", body: applied.changed(n),
			}
		},
	}
	for _, verb := range []string{"create", "get", "update", "patch", "apply"} {
		b.Run(verb, func(b *testing.B) {
			last := &reply{}
			if verb != "create" {
				last = send(b, request{method: "POST", path: path, body: asJSON(b, fleet(group, verb, 3))})
				b.Cleanup(func() { remove(b, path+"/"+verb) })
			} else {
				b.Cleanup(func() { shared.must(b, http.StatusOK, "DELETE", path, "") })
			}
			b.ReportAllocs()
			n, before := 0, servertest.ProcessorTime(b)
			for b.Loop() {
				last = send(b, requests[verb](n, last))
				n++
			}
			b.ReportMetric(float64(servertest.ProcessorTime(b)-before)/float64(n), "cpu-ns/op")
		})
	}
}

// BenchmarkMarkers measures how much twenty markers add to the update of an object of
// 200 fields.
func BenchmarkMarkers(b *testing.B) {
	const block, rounds = 10, 3
	turns := func(group string, marked bool) func() {
		path := defineFleets(b, group, marked)
		last := send(b, request{method: "POST", path: path, body: asJSON(b, fleet(group, "update", 3))})
		b.Cleanup(func() { remove(b, path+"/update") })
		n := 0
		return func() {
			for range block {
				n++
				last = send(b, request{method: "PUT", path: path + "/update", body: last.changed(n)})
			}
		}
	}
	plain, marked := servertest.Compare(b, rounds,
		turns("plain.bench.example.com", false), turns("marked.bench.example.com", true))
	b.ReportMetric(float64(plain.CPU)/block, "plain-cpu-ns")
	b.ReportMetric(float64(marked.CPU)/block, "marked-cpu-ns")
	b.ReportMetric(marked.More(plain), "more-%")
}

func defineFleets(b *testing.B, group string, marked bool) string {
	b.Helper()
	shared.must(b, http.StatusCreated, "POST", definitions, fleetDefinition(group, marked))
	b.Cleanup(func() { remove(b, definitions+"/fleets."+group) })
	return "/apis/" + group + "/v1/namespaces/default/fleets"
}

// request holds everything that send needs. The client computes nothing while it sends the
// request, because the benchmark measures the processor time of the client too.
type request struct {
	method, path, media string
	body                []byte
}

// reply is the JSON of an object that was received, or that will be sent.
type reply struct {
	body   []byte
	header http.Header
}

// changed returns the object with another number of replicas.
func (r *reply) changed(n int) []byte {
	const field = `"replicas":`
	at := bytes.Index(r.body, []byte(field)) + len(field)
	end := at + bytes.IndexAny(r.body[at:], ",}")
	return slices.Concat(r.body[:at], fmt.Appendf(nil, "%d", n%20+1), r.body[end:])
}

// named returns the object with a name of its own.
func (r *reply) named(n int) []byte {
	return bytes.Replace(r.body, []byte("NAME"), fmt.Appendf(nil, "c%d", n), 1)
}

func send(b testing.TB, r request) *reply {
	b.Helper()
	body, header := servertest.Sender{HTTP: shared.http, URL: shared.url}.Send(b, servertest.Request{
		Method: r.method, Path: r.path, Media: r.media, Body: r.body,
	})
	return &reply{body: body, header: header}
}

func asJSON(b *testing.B, text string) []byte {
	b.Helper()
	data := yamltest.JSON(b, text)
	return data
}

// TestFleet checks the size of the objects that the benchmarks use.
func TestFleet(t *testing.T) {
	text := fleetDefinition("fleet.example.com", true)
	fields := strings.Count(text, "type:") + strings.Count(text, "x-kubernetes-int-or-string") - strings.Count(text, "list-type:")
	markers := strings.Count(text, "x-kubernetes-immutable:") + strings.Count(text, "x-kubernetes-addition-only:")
	data := yamltest.JSON(t, fleet("fleet.example.com", "a", 3))
	if fields < 200 || markers != 20 || len(data) < 6000 || len(data) > 7000 {
		t.Errorf("%d fields, %d markers, %d bytes", fields, markers, len(data))
	}
}
