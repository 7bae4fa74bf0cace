package views_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/native/views"
	"holdfast.dev/holdfast/ownership"
)

// benchmarkFile is a Deployment of three containers with about ninety fields;
// n goes into fourteen of them.
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

func benchmarkWrite(b *testing.B, lab *laboratory) ownership.Write {
	b.Helper()
	t := &testing.T{}
	w := lab.world(t, deployment)
	apply(benchmarkFile(1))(w)
	live := w.live()
	// What a patch of fourteen fields leaves behind.
	updated := w.normalize(w.annotate(parse(t, benchmarkFile(2)), live.GetAnnotations()[ownership.LastApplied]))
	return ownership.Write{
		Type: w.typ, Live: live.Object, New: updated, LiveManagers: live.GetManagedFields(),
		Writer: ownership.ParseWriter(ownership.Request{Command: "kubectl patch", FieldManager: "kubectl-patch", User: "jane"}),
	}
}

func leaves(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += leaves(item)
		}
	case []any:
		for _, item := range v {
			n += leaves(item)
		}
	default:
		return 1
	}
	return n
}

func BenchmarkJudge(b *testing.B) {
	lab := newLaboratory(b)
	write := benchmarkWrite(b, lab)
	b.Logf("%d fields", leaves(write.New["spec"]))
	cache := ownership.NewCache(1 << 20)
	if verdict := ownership.Judge(write, cache); len(verdict.Findings) != 14 {
		b.Fatalf("%d findings: %s", len(verdict.Findings), strings.Join(verdict.Warnings(), "\n"))
	}
	b.Run("14 changes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			verdict := ownership.Judge(write, cache)
			verdict.Warnings()
		}
	})
	b.Run("14 changes, not cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			verdict := ownership.Judge(write, nil)
			verdict.Warnings()
		}
	})
	free := write
	free.New = runtime.DeepCopyJSON(write.Live)
	if err := unstructured.SetNestedField(free.New, true, "spec", "paused"); err != nil {
		b.Fatal(err)
	}
	b.Run("nothing owned", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ownership.Judge(free, cache)
		}
	})
	applied := write
	applied.Writer = ownership.ParseWriter(ownership.Request{Command: "kubectl apply", FieldManager: "kubectl-client-side-apply", User: "jane"})
	applied.New = runtime.DeepCopyJSON(write.New)
	u := unstructured.Unstructured{Object: applied.New}
	u.SetAnnotations(map[string]string{ownership.LastApplied: encodeBench(b, parse(&testing.T{}, benchmarkFile(2)))})
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ownership.Judge(applied, cache)
		}
	})
	unowned := write
	unowned.Live = runtime.DeepCopyJSON(write.Live)
	unstructured.RemoveNestedField(unowned.Live, "metadata", "annotations")
	unowned.New = unowned.Live
	b.Run("not applied at all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ownership.Judge(unowned, cache)
		}
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
	lab := newLaboratory(b)
	write := benchmarkWrite(b, lab)
	typed, err := lab.scheme.New(deployment)
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
