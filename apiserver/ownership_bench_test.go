package apiserver_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
)

const benchDeployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","annotations":{},"labels":{"app":"web"}},
"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
{"name":"web","image":"nginx:1.27","args":["-v"],"env":[{"name":"A","value":"a"},{"name":"B","value":"b"}],"ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"100m"}}},
{"name":"log","image":"log:1","args":["-v"],"env":[{"name":"A","value":"a"},{"name":"B","value":"b"}],"ports":[{"containerPort":81}],"resources":{"requests":{"cpu":"100m"}}},
{"name":"side","image":"side:1","args":["-v"],"env":[{"name":"A","value":"a"},{"name":"B","value":"b"}],"ports":[{"containerPort":82}],"resources":{"requests":{"cpu":"100m"}}}]}}}}`

// BenchmarkOwnership patches an applied Deployment, a field that apply owns and
// one that is free, with the engine on and off. Both sides take turns in one
// process, a few patches each, and what counts is the processor time of client and
// server together: it is the same on a busy machine.
//
// The garbage collector would charge whichever side it happens to interrupt, which
// is more than what is measured here. It runs between the turns instead, and each
// side pays for the bytes that it allocated, at the price of a collection of a heap
// that doubles.
func BenchmarkOwnership(b *testing.B) {
	off, on := benchClient(b, "off"), benchClient(b, "enforce-edit")
	const block, rounds = 5, 5
	for _, field := range []string{"owned", "free"} {
		patch := map[string]string{"owned": `{"spec":{"replicas":%d}}`, "free": `{"spec":{"minReadySeconds":%d}}`}[field]
		b.Run(field, func(b *testing.B) {
			turn := func(client *commander, first int) {
				for i := range block {
					_, err := client.AppsV1().Deployments("default").Patch(b.Context(), "web", types.MergePatchType,
						fmt.Appendf(nil, patch, (first+i)%500+3), metav1.PatchOptions{FieldManager: "kubectl-patch"})
					if err != nil {
						b.Fatal(err)
					}
				}
				client.heard()
			}
			// What happens once, such as reading schemas, is not a patch's.
			turn(off, 400)
			turn(on, 400)
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			spent := map[*commander]cost{}
			var collected cost
			n := 0
			for b.Loop() {
				for range rounds {
					turns := []*commander{off, on}
					if n%2 == 1 {
						slices.Reverse(turns)
					}
					for _, client := range turns {
						before := costs(b)
						turn(client, n*block)
						spent[client] = spent[client].plus(costs(b), before)
					}
					n++
				}
				before := costs(b)
				runtime.GC()
				collected.cpu += costs(b).cpu - before.cpu
				collected.bytes += int64(reading("/gc/heap/live:bytes"))
			}
			each := func(c cost) float64 {
				garbage := float64(collected.cpu) * float64(c.bytes) / float64(collected.bytes)
				return (float64(c.cpu) + garbage) / float64(time.Microsecond) / float64(n*block)
			}
			b.ReportMetric(each(spent[off]), "off-cpu-µs/patch")
			b.ReportMetric(each(spent[on]), "on-cpu-µs/patch")
			b.ReportMetric(100*(each(spent[on])/each(spent[off])-1), "overhead-%")
			b.ReportMetric(100*(float64(spent[on].bytes)/float64(spent[off].bytes)-1), "bytes-%")
		})
	}
}

// cost is what was used up.
type cost struct {
	cpu   time.Duration
	bytes int64
}

// plus adds what was used between two moments.
func (c cost) plus(after, before cost) cost {
	return cost{c.cpu + after.cpu - before.cpu, c.bytes + after.bytes - before.bytes}
}

// costs are those of this process so far.
func costs(b *testing.B) cost {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return cost{time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), int64(reading("/gc/heap/allocs:bytes"))}
}

// reading is a number that the runtime keeps.
func reading(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// benchClient is a client of a server that has the Deployment.
func benchClient(b *testing.B, mode string) *commander {
	b.Helper()
	client := running(b, servertest.Start(b, apiserver.Config{Ownership: mode}).Config(b), "kubectl patch")
	obj := &appsv1.Deployment{}
	if err := yaml.Unmarshal([]byte(benchDeployment), obj); err != nil {
		b.Fatal(err)
	}
	obj.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": benchDeployment}
	options := metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}
	if _, err := client.AppsV1().Deployments("default").Create(b.Context(), obj, options); err != nil {
		b.Fatal(err)
	}
	return client
}
