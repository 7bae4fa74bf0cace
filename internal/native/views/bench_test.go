package views_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/native/views"
	"holdfast.dev/holdfast/internal/yamltest"
	"holdfast.dev/holdfast/ownership"
)

// benchmarkFile returns a Deployment with three containers and about 90 fields. 14 of them
// depend on n.
func benchmarkFile(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, team: red, version: "v%d"}}
spec:
  replicas: %d
  minReadySeconds: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec:
      serviceAccountName: web
      nodeSelector: {disk: ssd}
      containers:
`, n, n)
	for _, name := range []string{"web", "log", "side"} {
		fmt.Fprintf(&b, `
      - name: %s
        image: registry.example/%s:%d
        args: [--level=%d, --port=8080]
        workingDir: /srv
        env: [{name: A, value: a}, {name: B, value: b%d}, {name: C, value: c}]
        ports: [{containerPort: 80, name: %s}]
        resources: {requests: {cpu: %dm, memory: 64Mi}, limits: {memory: 128Mi}}
        livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 5}
        volumeMounts: [{name: data, mountPath: /data}, {name: tmp, mountPath: /tmp}]
`, name, name, n, n, n, name, 100+n)
	}
	b.WriteString("      volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {sizeLimit: 1Gi}}]\n")
	return b.String()
}

// benchmarkWrite returns a write that changes 14 fields which kubectl apply manages.
func benchmarkWrite(b *testing.B, fixtures *fixtures) ownership.Write {
	b.Helper()
	t := &testing.T{}
	w := fixtures.newSimulation(t, deployment)
	apply(benchmarkFile(1))(w)
	live := w.live()
	// The object after a patch of 14 fields.
	updated := w.normalize(w.annotate(yamltest.Map(t, benchmarkFile(2)), live.GetAnnotations()[ownership.LastApplied]))
	return ownership.Write{
		Type: w.typ, Live: live.Object, New: updated, LiveManagers: live.GetManagedFields(),
		Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl patch", FieldManager: "kubectl-patch", User: "jane"}),
	}
}

// countLeaves returns the number of values that are neither maps nor lists.
func countLeaves(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += countLeaves(item)
		}
	case []any:
		for _, item := range v {
			n += countLeaves(item)
		}
	default:
		return 1
	}
	return n
}

func BenchmarkJudge(b *testing.B) {
	fixtures := newFixtures(b)
	write := benchmarkWrite(b, fixtures)
	b.Logf("%d fields", countLeaves(write.New["spec"]))
	cache := ownership.NewCache(1 << 20)
	if verdict := ownership.Judge(write, cache); len(verdict.Findings) != 14 {
		b.Fatalf("%d findings: %s", len(verdict.Findings), strings.Join(verdict.Warnings(), "\n"))
	}
	judge := func(write ownership.Write, cache *ownership.Cache) func() {
		return func() {
			verdict := ownership.Judge(write, cache)
			verdict.Warnings()
		}
	}
	measure(b, "14 changes", judge(write, cache))
	measure(b, "14 changes, not cached", judge(write, nil))
	unmanaged := write
	unmanaged.New = runtime.DeepCopyJSON(write.Live)
	if err := unstructured.SetNestedField(unmanaged.New, true, "spec", "paused"); err != nil {
		b.Fatal(err)
	}
	measure(b, "change of an unmanaged field", judge(unmanaged, cache))
	applied := write
	applied.Writer = ownership.ParseWriter(ownership.Request{
		Command: "kubectl apply", FieldManager: "kubectl-client-side-apply", User: "jane",
	})
	applied.New = runtime.DeepCopyJSON(write.New)
	u := unstructured.Unstructured{Object: applied.New}
	u.SetAnnotations(map[string]string{ownership.LastApplied: encodeBench(b, yamltest.Map(b, benchmarkFile(2)))})
	measure(b, "apply", func() {
		judge(applied, cache)()
		// The next apply begins with the configuration of this one.
		applied.Live, applied.New = applied.New, applied.Live
	})
	unowned := write
	unowned.Live = runtime.DeepCopyJSON(write.Live)
	unstructured.RemoveNestedField(unowned.Live, "metadata", "annotations")
	unowned.New = unowned.Live
	measure(b, "object without managed fields", judge(unowned, cache))
}

// measure runs a benchmark that also reports the processor time, without that of the kernel. It
// depends less on what else the machine does than the elapsed time.
func measure(b *testing.B, name string, f func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		before := userTime(b)
		for b.Loop() {
			f()
		}
		b.ReportMetric(float64((userTime(b)-before).Nanoseconds())/1000/float64(b.N), "user-µs/op")
	})
}

func encodeBench(b *testing.B, config map[string]any) string {
	b.Helper()
	text, err := ownership.Replacement(config)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func BenchmarkContent(b *testing.B) {
	fixtures := newFixtures(b)
	write := benchmarkWrite(b, fixtures)
	typed, err := fixtures.scheme.New(deployment)
	if err != nil {
		b.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(write.Live, typed); err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := views.Content(typed); err != nil {
				b.Fatal(err)
			}
		}
	})
	scaled := typed.DeepCopyObject().(*appsv1.Deployment)
	*scaled.Spec.Replicas++
	b.Run("scaled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := views.Differing(typed, scaled); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkJudgeMap judges writes to a ConfigMap of 2,000 keys that kubectl apply manages. To
// judge an apply, the server also calls Content, once for each of the two objects.
func BenchmarkJudgeMap(b *testing.B) {
	data := map[string]any{}
	for i := range 2000 {
		data[fmt.Sprintf("key-%04d", i)] = fmt.Sprintf("value %d", i)
	}
	config := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "big"}, "data": data}
	live := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(config)}
	live.SetUID("1")
	live.SetAnnotations(map[string]string{ownership.LastApplied: encodeBench(b, config)})
	updated := live.DeepCopy()
	if err := unstructured.SetNestedField(updated.Object, "changed", "data", "key-1000"); err != nil {
		b.Fatal(err)
	}
	applied := updated.DeepCopy()
	delete(applied.Object["metadata"].(map[string]any), "annotations")
	applied.SetAnnotations(map[string]string{ownership.LastApplied: encodeBench(b, applied.Object)})
	typ := views.New().Of(live.GroupVersionKind().GroupKind())
	for command, after := range map[string]*unstructured.Unstructured{"patch": updated, "apply": applied} {
		cache := ownership.NewCache(1 << 20)
		write := ownership.Write{
			Type: typ, Live: live.Object, New: after.Object,
			Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl " + command, User: "jane"}),
		}
		measure(b, command, func() {
			verdict := ownership.Judge(write, cache)
			verdict.Warnings()
			if command == "apply" {
				// The next apply begins with the configuration of this one.
				write.Live, write.New = write.New, write.Live
			}
		})
	}
	typed := &corev1.ConfigMap{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, typed); err != nil {
		b.Fatal(err)
	}
	measure(b, "content", func() {
		if _, err := views.Content(typed); err != nil {
			b.Fatal(err)
		}
	})
}

// userTime returns the processor time that the process has used, without that of the kernel.
func userTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano())
}
