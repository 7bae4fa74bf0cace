package builtin_test

import (
	"fmt"
	"net/url"
	"runtime"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// BenchmarkWatches measures what 1,000 watches of built-in kinds cost a server, 20 with -short: the memory of one while it waits, and one event
// of it. The process has the server, its etcd and a client that needs almost nothing for a watch. The cost of the write that causes the
// events is measured before and left out.
func BenchmarkWatches(b *testing.B) {
	watches := 1000
	if testing.Short() {
		watches = 20
	}
	for _, row := range []struct {
		name string
		// parameters are those of the request of one of the watches.
		parameters func(n int) url.Values
	}{
		{"object", func(int) url.Values { return url.Values{"fieldSelector": {"metadata.name=own"}} }},
		{"selector", func(n int) url.Values { return url.Values{"labelSelector": {fmt.Sprintf("app=web,tier!=t%d", n)}} }},
	} {
		b.Run(row.name, func(b *testing.B) {
			server := servertest.Start(b, apiserver.Config{})
			client := benchClient{servertest.NewSender(b, server.Config(b))}
			client.send(b, requestTo("POST", benchedConfigMaps, "", withName(configMapOfSettings(0), "own")))
			client.send(b, requestTo("PATCH", benchedConfigMaps+"/own", mergePatch, []byte(`{"metadata":{"labels":{"app":"web"}}}`)))
			n := 0
			change := func() {
				n++
				client.send(b, requestTo("PATCH", benchedConfigMaps+"/own", mergePatch, fmt.Appendf(nil, `{"data":{"generation":"%d"}}`, n)))
			}
			const unwatched = 50
			change()
			alone := spentBy(b, func() {
				for range unwatched {
					change()
				}
			}).per(unwatched)

			before := waiting()
			paths := make([]string, watches)
			for i := range paths {
				parameters := row.parameters(i)
				parameters.Set("watch", "true")
				parameters.Set("allowWatchBookmarks", "true")
				parameters.Set("timeoutSeconds", strconv.Itoa(int((5 * time.Minute).Seconds())))
				paths[i] = benchedConfigMaps + "?" + parameters.Encode()
			}
			streams := servertest.OpenStreams(b, server.Config(b), paths)
			streams.Await(watches) // each watch begins with the object
			change()
			streams.Await(watches)
			after := waiting()

			changes := 0
			all := spentBy(b, func() {
				for b.Loop() {
					change()
					streams.Await(watches)
					changes++
				}
			}).per(changes)
			each := all.less(alone).per(watches)
			b.ReportMetric(each.bytes, "B/event")
			b.ReportMetric(each.allocations, "allocs/event")
			b.ReportMetric(each.cpu, "cpu-ns/event")
			b.ReportMetric(float64(after.heap-before.heap)/float64(watches), "live-B/watch")
			b.ReportMetric(float64(after.stacks-before.stacks)/float64(watches), "stack-B/watch")
			b.ReportMetric(float64(after.goroutines-before.goroutines)/float64(watches), "goroutines/watch")
		})
	}
}

// spent is processor time and allocations.
type spent struct{ cpu, bytes, allocations float64 }

func (s spent) per(n int) spent {
	return spent{s.cpu / float64(n), s.bytes / float64(n), s.allocations / float64(n)}
}

func (s spent) less(other spent) spent {
	return spent{s.cpu - other.cpu, s.bytes - other.bytes, s.allocations - other.allocations}
}

// spentBy measures a function.
func spentBy(b *testing.B, do func()) spent {
	b.Helper()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	bytes, allocations, cpu := stats.TotalAlloc, stats.Mallocs, servertest.ProcessorTime(b)
	do()
	cpu = servertest.ProcessorTime(b) - cpu
	runtime.ReadMemStats(&stats)
	return spent{float64(cpu), float64(stats.TotalAlloc - bytes), float64(stats.Mallocs - allocations)}
}

// memory is what a process has at rest.
type memory struct{ heap, stacks, goroutines int64 }

// waiting returns the memory of the process. A garbage collection halves each stack of which less than a quarter is in use, so
// there are several.
func waiting() memory {
	for range 6 {
		runtime.GC()
	}
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(samples)
	return memory{int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64()), int64(samples[2].Value.Uint64())}
}
