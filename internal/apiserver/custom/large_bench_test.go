package custom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// largeFields is the number of properties of a definition that is larger than those of most projects, as in bench/compare.
const largeFields = 5000

// BenchmarkLargeDefinition measures what one definition with 5,000 properties costs: to create it, to read with it, to write its first
// object, and the live heap that is left. Each metric is per definition, of the whole process: the server, its etcd and the client.
func BenchmarkLargeDefinition(b *testing.B) {
	total := map[string]float64{}
	before := memory()
	step := func(name string, do func()) {
		cpu, allocated := servertest.ProcessorTime(b), allocatedBytes()
		began := time.Now()
		do()
		total["ms-wait-"+name] += float64(time.Since(began)) / 1e6
		total["ms-cpu-"+name] += float64(servertest.ProcessorTime(b)-cpu) / 1e6
		total["MB-"+name] += float64(allocatedBytes()-allocated) / 1e6
		total["MB-live-after-"+name] = float64(memory()-before) / 1e6
	}
	n := 0
	for b.Loop() {
		group := fmt.Sprintf("large%d.example.com", n)
		crd := definitiontest.Sized(group, "atlas", largeFields)
		body, err := json.Marshal(crd)
		if err != nil {
			b.Fatal(err)
		}
		objects := "/apis/" + group + "/v1/namespaces/default/atlass"
		step("create", func() { send(b, request{method: "POST", path: definitions, body: body}) })
		step("list", func() { shared.must(b, http.StatusOK, "GET", objects, "") })
		step("write", func() {
			shared.must(b, http.StatusCreated, "POST", objects, fmt.Sprintf(
				"{apiVersion: %s/v1, kind: Atlas, metadata: {name: one}, spec: {region: a, part000: {image: a, replicas: 1, ports: [{port: 1}]}}}", group))
		})
		n++
	}
	for name, value := range total {
		b.ReportMetric(value/float64(n), name)
	}
	b.Cleanup(func() {
		for i := range n {
			shared.must(b, http.StatusOK, "DELETE", fmt.Sprintf("%s/atlass.large%d.example.com", definitions, i), "")
		}
	})
}

// allocatedBytes returns the bytes that the process has allocated since its start.
func allocatedBytes() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
