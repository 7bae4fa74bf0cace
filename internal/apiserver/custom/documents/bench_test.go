package documents_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/custom/definitiontest"
	"holdfast.dev/holdfast/internal/apiserver/custom/documents"
	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/definition"
)

// publishGenerated publishes the documents of a number of generated definitions, without built-in kinds. It returns the definitions by
// group.
func publishGenerated(number int) (*documents.Documents, *lastPublished, map[string][]*definition.CustomResourceDefinition) {
	documents, publisher := publish(document(nil))
	groups := map[string][]*definition.CustomResourceDefinition{}
	for i := range number {
		crd := definitiontest.Generated(i)
		groups[crd.Spec.Group] = append(groups[crd.Spec.Group], crd)
	}
	for group, crds := range groups {
		documents.Update(group, crds)
	}
	return documents, publisher, groups
}

func fetch(b *testing.B, handler http.Handler, path string) int {
	b.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		b.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.Len()
}

// live returns the size of the heap. What a sync.Pool holds survives one collection.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// processorTime returns the processor time of the process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkOpenAPIV2 measures the document of version 2: the first one, and the one after a change of one definition. With
// -short it has few definitions.
func BenchmarkOpenAPIV2(b *testing.B) {
	numbers := []int{300, 2000}
	if testing.Short() {
		numbers = []int{20}
	}
	for _, number := range numbers {
		b.Run(strconv.Itoa(number)+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				_, published, _ := publishGenerated(number)
				before, start := live(), processorTime(b)
				b.StartTimer()
				size := fetch(b, published.v2, "/openapi/v2")
				b.StopTimer()
				b.ReportMetric(float64(processorTime(b)-start), "cpu-ns/op")
				b.ReportMetric(float64(size)/1e6, "MB-sent")
				b.ReportMetric((float64(live())-float64(before))/1e6, "MB-kept")
				runtime.KeepAlive(published)
				b.StartTimer()
			}
		})
		b.Run(strconv.Itoa(number)+"/changed", func(b *testing.B) {
			documents, published, groups := publishGenerated(number)
			fetch(b, published.v2, "/openapi/v2")
			b.ReportAllocs()
			n, start := 0, processorTime(b)
			for ; b.Loop(); n++ {
				crd := definitiontest.Generated(0)
				crd.Spec.Versions[0].Schema.OpenAPIV3Schema = definitiontest.Schema(31 + n%2)
				crds := append([]*definition.CustomResourceDefinition{crd}, groups[crd.Spec.Group][1:]...)
				documents.Update(crd.Spec.Group, crds)
				fetch(b, published.v2, "/openapi/v2")
			}
			b.ReportMetric(float64(processorTime(b)-start)/float64(n), "cpu-ns/op")
		})
	}
}

// BenchmarkOpenAPIV3 measures the list of the documents of version 3 with 2,000 definitions, 20 with -short, and one document with
// 15 definitions.
func BenchmarkOpenAPIV3(b *testing.B) {
	many := 2000
	if testing.Short() {
		many = 20
	}
	for name, number := range map[string]int{"list": many, "group": 15} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var used time.Duration
			n := 0
			for ; b.Loop(); n++ {
				b.StopTimer()
				_, published, _ := publishGenerated(number)
				runtime.GC()
				start := processorTime(b)
				b.StartTimer()
				if name == "list" {
					fetch(b, http.HandlerFunc(published.v3.ServeList), openapi.PathV3)
				} else {
					fetchV3(b, published, "/apis/project000.example.com/v1")
				}
				used += processorTime(b) - start
			}
			b.ReportMetric(float64(used)/float64(n), "cpu-ns/op")
		})
	}
}

func fetchV3(b *testing.B, published *lastPublished, path string) {
	b.Helper()
	path = openapi.PathV3 + path
	fetch(b, published.v3.Of(httptest.NewRequest(http.MethodGet, path, nil)), path)
}
