package custom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// BenchmarkDefinitions measures what one more definition costs a server: the time until
// its first object is stored, and its memory. Run it with a number of definitions:
// -benchtime=500x.
func BenchmarkDefinitions(b *testing.B) {
	schema := realisticSchema(40)
	group := fmt.Sprintf("n%d.example.com", b.N)
	before := memory()
	var served time.Duration
	n := 0
	for b.Loop() {
		plural := fmt.Sprintf("kind%ds", n)
		shared.must(b, http.StatusCreated, "POST", definitions, oneOfMany(group, plural, schema))
		start := time.Now()
		shared.must(b, http.StatusCreated, "POST", "/apis/"+group+"/v1/namespaces/default/"+plural,
			fmt.Sprintf("{apiVersion: %s/v1, kind: Kind%d, metadata: {name: one}, spec: {field0: a}}", group, n))
		served = max(served, time.Since(start))
		n++
	}
	b.ReportMetric(float64(memory()-before)/float64(n)/1e6, "MB/definition")
	start := time.Now()
	shared.must(b, http.StatusOK, "GET", "/openapi/v3/apis/"+group+"/v1", "")
	b.ReportMetric(float64(time.Since(start))/1e6, "ms-document")
	b.ReportMetric(float64(memory()-before)/float64(n)/1e6, "MB/definition-with-document")
	b.ReportMetric(float64(served)/1e6, "ms-served-at-most")
	b.Cleanup(func() {
		for i := range n {
			shared.must(b, http.StatusOK, "DELETE", fmt.Sprintf("%s/kind%ds.%s", definitions, i, group), "")
		}
	})
}

// BenchmarkCreateDefinition measures the creation of definitions of 30 to 1,000 fields, as bench/compare creates them. cpu-ns/op is
// the processor time of the whole process: the server, its etcd and the client.
func BenchmarkCreateDefinition(b *testing.B) {
	var created []string
	bodies := make([][]byte, 0, 300)
	for i := range cap(bodies) {
		crd := definitiontest.Generated(i)
		body, err := json.Marshal(crd)
		if err != nil {
			b.Fatal(err)
		}
		bodies = append(bodies, body)
		created = append(created, definitions+"/"+crd.Name)
	}
	b.ReportAllocs()
	n, before := 0, servertest.ProcessorTime(b)
	for b.Loop() {
		if n == len(bodies) {
			b.Fatalf("run it at most %d times: -benchtime=100x", n)
		}
		send(b, request{method: "POST", path: definitions, body: bodies[n]})
		n++
	}
	b.ReportMetric(float64(servertest.ProcessorTime(b)-before)/float64(n), "cpu-ns/op")
	for _, path := range created[:n] {
		shared.must(b, http.StatusOK, "DELETE", path, "")
	}
}

// BenchmarkDefinitionsInUse measures the memory that a definition of 30 to 1,000 fields takes when it was created, and when its objects were
// listed. Run it with a number of definitions: -benchtime=100x.
func BenchmarkDefinitionsInUse(b *testing.B) {
	var lists, created []string
	before := memory()
	for b.Loop() {
		crd := definitiontest.Generated(1000 + len(lists))
		body, err := json.Marshal(crd)
		if err != nil {
			b.Fatal(err)
		}
		send(b, request{method: "POST", path: definitions, body: body})
		created = append(created, definitions+"/"+crd.Name)
		lists = append(lists, "/apis/"+crd.Spec.Group+"/v1/namespaces/default/"+crd.Spec.Names.Plural)
	}
	unused := memory()
	for _, path := range lists {
		shared.must(b, http.StatusOK, "GET", path, "")
	}
	b.ReportMetric(float64(unused-before)/float64(len(lists))/1e3, "KB/unused")
	b.ReportMetric(float64(memory()-unused)/float64(len(lists))/1e3, "KB/more-in-use")
	b.Cleanup(func() {
		for _, path := range created {
			shared.must(b, http.StatusOK, "DELETE", path, "")
		}
	})
}

// memory returns the heap in use after a garbage collection, and the stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse) //nolint:gosec // far below the limit
}

// realisticSchema returns a schema with a number of fields with descriptions, a tenth of
// them with a CEL rule, and a list of objects.
func realisticSchema(fields int) string {
	var text strings.Builder
	text.WriteString("{type: object, properties: {")
	for i := range fields {
		fmt.Fprintf(&text, "field%d: {type: string, maxLength: 100, "+
			"description: What the field with the number %d is there for and which values it takes., pattern: '^[a-z]*$'", i, i)
		if i%10 == 0 {
			text.WriteString(", x-kubernetes-validations: [{rule: 'self != \"forbidden\"'}]")
		}
		text.WriteString("}, ")
	}
	text.WriteString("list: {type: array, maxItems: 10, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], " +
		"items: {type: object, required: [name], properties: {name: {type: string, maxLength: 10}, port: {type: integer}}}}}}")
	return text.String()
}

func oneOfMany(group, plural, schema string) string {
	kind := strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s")
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.%s}
spec:
  group: %s
  scope: Namespaced
  names: {plural: %s, kind: %s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: %s, status: {type: object, properties: {phase: {type: string}}}}}}
`, plural, group, group, plural, kind, schema)
}
