package selection_test

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/selection"
)

// BenchmarkOpen measures the memory of a watch for a node that uses twenty objects, while a
// thousand other nodes use as many.
func BenchmarkOpen(b *testing.B) {
	s := newUsedStore(b, 1000)
	watches := make([]watch.Interface, 0, b.N)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		node := fmt.Sprintf("node-%d", len(watches)%1000)
		w := s.Watch(b.Context(), "configmaps", selection.Request{Node: node, Initial: true})
		for range 20 {
			<-w.ResultChan()
		}
		watches = append(watches, w)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(watches)), "B/watch")
	for _, w := range watches {
		w.Stop()
	}
}

// BenchmarkChange measures the change of an object that one of a thousand nodes uses, while
// all nodes watch.
func BenchmarkChange(b *testing.B) {
	s := newUsedStore(b, 1000)
	watches := make([]watch.Interface, 1000)
	for i := range watches {
		watches[i] = s.watch(b, selection.Request{Node: fmt.Sprintf("node-%d", i)})
	}
	version := uint64(1_000_000)
	for b.Loop() {
		version++
		s.objects.Change(watch.Modified, configMap("object-7-3", version), version)
		<-watches[7].ResultChan()
	}
}

// newUsedStore returns a store with nodes that use twenty objects each.
func newUsedStore(b *testing.B, nodes int) store {
	b.Helper()
	s, version := newStore(), uint64(1)
	for node := range nodes {
		var names []string
		for i := range 20 {
			version++
			names = append(names, fmt.Sprintf("object-%d-%d", node, i))
			s.objects.Change(watch.Added, configMap(names[i], version), version)
		}
		version++
		s.pods.Change(watch.Added, pod(fmt.Sprintf("pod-%d", node), fmt.Sprintf("node-%d", node), names...), version)
	}
	s.do(b, fmt.Sprint(version))
	return s
}
