package builtin_test

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkMemory measures the live heap that an object adds to a server, with the versions that watches can resume from. The process has
// the server, its etcd and one client. The pods have one owner, and start; the ConfigMaps have the same keys and other values.
func BenchmarkMemory(b *testing.B) {
	const count = 2000
	var pod []byte
	for _, row := range []struct {
		name   string
		create func(c benchClient, n int)
	}{
		{"ConfigMap", func(c benchClient, n int) {
			c.send(b, requestTo("POST", benchedConfigMaps, "", withName(configMapOfSettings(n), fmt.Sprint("c", n))))
		}},
		{"Pod", func(c benchClient, n int) {
			name := fmt.Sprint("p", n)
			c.send(b, requestTo("POST", benchedPods, "", withName(pod, name)))
			c.send(b, requestTo("PATCH", benchedPods+"/"+name+"/status", strategicMergePatch, benchedPodStatus(n)))
		}},
	} {
		b.Run(row.name, func(b *testing.B) {
			client, n := newBenchClient(b), 0
			pod = client.ownedPod(b)
			objects := count
			if testing.Short() {
				objects = 10
			}
			for b.Loop() {
				before := liveHeap()
				for range objects {
					n++
					row.create(client, n)
				}
				b.ReportMetric(float64(liveHeap()-before)/float64(objects), "live-B/object")
			}
		})
	}
}

func liveHeap() int64 {
	// The second collection frees what finalizers of the first one have released.
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
