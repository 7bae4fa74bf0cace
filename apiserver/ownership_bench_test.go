package apiserver_test

import (
	"fmt"
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
// process, block by block, and what counts is the processor time of client and
// server together: it is the same on a busy machine.
func BenchmarkOwnership(b *testing.B) {
	off, on := benchClient(b, "off"), benchClient(b, "enforce-edit")
	const block = 25
	for name, patch := range map[string]string{"owned": `{"spec":{"replicas":%d}}`, "free": `{"spec":{"minReadySeconds":%d}}`} {
		b.Run(name, func(b *testing.B) {
			spent := map[*commander]time.Duration{}
			n := 0
			for b.Loop() {
				turns := []*commander{off, on}
				if n%2 == 1 {
					slices.Reverse(turns)
				}
				for _, client := range turns {
					before := cpuTime(b)
					for i := range block {
						_, err := client.AppsV1().Deployments("default").Patch(b.Context(), "web", types.MergePatchType,
							fmt.Appendf(nil, patch, (n*block+i)%500+3), metav1.PatchOptions{FieldManager: "kubectl-patch"})
						if err != nil {
							b.Fatal(err)
						}
					}
					spent[client] += cpuTime(b) - before
				}
				n++
			}
			each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n*block) }
			b.ReportMetric(each(spent[off]), "off-cpu-µs/patch")
			b.ReportMetric(each(spent[on]), "on-cpu-µs/patch")
			b.ReportMetric(100*(float64(spent[on])/float64(spent[off])-1), "overhead-%")
		})
	}
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

// cpuTime is the processor time of this process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
