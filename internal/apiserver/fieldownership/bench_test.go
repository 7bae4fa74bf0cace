package fieldownership_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const benchDeployment = `{"apiVersion":"apps/v1","kind":"Deployment",
"metadata":{"name":"web","namespace":"default","annotations":{},"labels":{"app":"web"}},
"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
{"name":"web","image":"nginx:1.27","args":["-v"],
"env":[{"name":"A","value":"a"},{"name":"B","value":"b"}],"ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"100m"}}},
{"name":"log","image":"log:1","args":["-v"],
"env":[{"name":"A","value":"a"},{"name":"B","value":"b"}],"ports":[{"containerPort":81}],"resources":{"requests":{"cpu":"100m"}}},
{"name":"side","image":"side:1","args":["-v"],
"env":[{"name":"A","value":"a"},{"name":"B","value":"b"}],"ports":[{"containerPort":82}],"resources":{"requests":{"cpu":"100m"}}}]}}}}`

// BenchmarkOwnership patches a Deployment that was applied, with the check on and off: a
// field that apply owns, and one that it does not own.
func BenchmarkOwnership(b *testing.B) {
	off, on := benchClient(b, "off"), benchClient(b, "enforce-edit")
	const block, rounds = 5, 5
	for _, field := range []string{"owned", "free"} {
		patch := map[string]string{"owned": `{"spec":{"replicas":%d}}`, "free": `{"spec":{"minReadySeconds":%d}}`}[field]
		b.Run(field, func(b *testing.B) {
			turns := func(client *commander) func() {
				n := 0
				return func() {
					for range block {
						n++
						_, err := client.AppsV1().Deployments("default").Patch(b.Context(), "web", types.MergePatchType,
							fmt.Appendf(nil, patch, n%500+3), metav1.PatchOptions{FieldManager: "kubectl-patch"})
						if err != nil {
							b.Fatal(err)
						}
					}
					client.heard()
				}
			}
			without, with := servertest.Compare(b, rounds, turns(off), turns(on))
			each := func(c servertest.Cost) float64 { return float64(c.CPU) / float64(time.Microsecond) / block }
			b.ReportMetric(each(without), "off-cpu-µs/patch")
			b.ReportMetric(each(with), "on-cpu-µs/patch")
			b.ReportMetric(with.More(without), "overhead-%")
			b.ReportMetric(100*(with.Bytes/without.Bytes-1), "bytes-%")
		})
	}
}

// benchClient starts a server with the Deployment and returns a client of it.
func benchClient(b *testing.B, mode string) *commander {
	b.Helper()
	client := running(b, servertest.Start(b, apiserver.Config{Ownership: mode}).Config(b), "kubectl patch")
	obj := yamltest.Decode[appsv1.Deployment](b, benchDeployment)
	obj.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": benchDeployment}
	options := metav1.CreateOptions{FieldManager: "kubectl-client-side-apply"}
	if _, err := client.AppsV1().Deployments("default").Create(b.Context(), obj, options); err != nil {
		b.Fatal(err)
	}
	return client
}
