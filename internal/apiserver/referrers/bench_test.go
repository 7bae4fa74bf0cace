package referrers

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/references"
)

// The numbers of the benchmarks: configuration objects, workloads, and references of each workload.
const (
	benchObjects, benchWorkloads, benchReferences = 10_000, 2_000, 5
)

// workload returns a pod that refers to five ConfigMaps of its namespace.
func workload(i int) *corev1.Pod {
	var names []string
	for j := range benchReferences {
		names = append(names, fmt.Sprintf("settings-%d", (i*benchReferences+j)%benchObjects))
	}
	p := pod("shop", fmt.Sprintf("web-%d", i), names...)
	p.Spec.ServiceAccountName = "default"
	for j := range p.Spec.Containers {
		p.Spec.Containers[j].Name, p.Spec.Containers[j].Image = fmt.Sprint("c", j), "registry.example.com/web:1.0"
	}
	return p
}

// BenchmarkPod passes changes of a pod to the index: of its status, and of a reference. A server without an index decodes the pod too.
func BenchmarkPod(b *testing.B) {
	b.Run("decode", func(b *testing.B) {
		text, err := workload(1).Marshal()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := new(corev1.Pod).Unmarshal(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, changed := range map[string][]string{"status": nil, "reference": {"settings-other"}} {
		b.Run(name, func(b *testing.B) {
			f := newFixture()
			pods := [2]*corev1.Pod{workload(1), workload(1)}
			if changed != nil {
				pods[1].Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name = changed[0]
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				f.pods.Change(watch.Modified, pods[i%2], uint64(i))
			}
		})
	}
}

// BenchmarkCustomResource reads a stored custom resource of 2 KB: with declared references, and without.
func BenchmarkCustomResource(b *testing.B) {
	text := []byte(`{"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"one","namespace":"shop","uid":"0b5e2e0c"},"spec":{"secret":"db","items":[`)
	for i := range 40 {
		text = fmt.Appendf(text, `{"name":"part-%d","value":"some text %d"},`, i, i)
	}
	text = append(text, `{}]}}`...)
	declared, err := references.Parse("Secret spec.secret")
	if err != nil {
		b.Fatal(err)
	}
	for name, rules := range map[string]ruleSet{"declared": {declared}, "every string": {references.Everything()}} {
		b.Run(name, func(b *testing.B) {
			f := newFixture()
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.read(schema.GroupResource{}, rules, storage.Stored{Namespace: "shop", Name: "one", Text: text}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNamespace does what a tenant can make the server do, in a namespace with one ConfigMap, while other namespaces have 100,000: a change of
// an object that counts as a reference to all objects of its namespace, a list of the unused objects, and a question about one.
func BenchmarkNamespace(b *testing.B) {
	f := newFixture()
	f.subscribers = nil
	f.configMaps.Change(watch.Added, configMap("shop", "settings", "1"), 1)
	for i := range 100_000 {
		namespace := fmt.Sprint("other-", i%100)
		f.configMaps.Change(watch.Added, configMap(namespace, fmt.Sprint("settings-", i), "1"), 1)
		if i%10 == 0 {
			pinned := pod(namespace, fmt.Sprint("web-", i), "settings-1")
			pinned.Status.Conditions = []corev1.PodCondition{{Type: references.Pinned, Status: corev1.ConditionTrue, Message: "configmaps/settings-1 1"}}
			f.pods.Change(watch.Added, pinned, 1)
		}
	}
	k := &kind{custom: true, objects: map[string]map[string][]key{}}
	refs := collector{index: f.Index}
	for name, do := range map[string]func(i int){
		"placeholder": func(i int) {
			refs.begin("shop")
			if i%2 == 0 {
				refs.add(references.ConfigMap, "", "a-${b}")
			}
			f.set(k, names{"shop", "one"}, refs.end())
		},
		"unused": func(int) { f.Index.unused(references.ConfigMap, "shop", true) },
		"used": func(int) {
			f.referrersOf(references.ConfigMap, "shop", "settings")
			f.pinsOf(references.ConfigMap, "shop", "settings")
		},
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				do(i)
			}
		})
	}
}

// heap returns the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first one leaves what pools hold
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkIndex fills an index from the lists of 10,000 ConfigMaps and 2,000 workloads. It compares the memory of the index with that of the
// objects, which a server without an index has in its watch caches too.
func BenchmarkIndex(b *testing.B) {
	before := heap()
	var configMaps, pods []k8sruntime.Object
	for i := range benchObjects {
		configMaps = append(configMaps, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("settings-", i), UID: types.UID(fmt.Sprintf("0b5e2e0c-7c5e-4b70-9d2e-%012d", i))},
			Data:       map[string]string{"app.yaml": fmt.Sprintf("%0512d", i)},
		})
	}
	for i := range benchWorkloads {
		pods = append(pods, workload(i))
	}
	objects := heap() - before
	var f *fixture
	for b.Loop() {
		f = newFixture()
		f.subscribers = nil
		f.configMaps.Replace(configMaps, 1)
		f.pods.Replace(pods, 1)
	}
	b.StopTimer()
	f = nil
	empty := newFixture()
	without := heap()
	empty.pods.Replace(pods, 1)
	references := heap()
	empty.configMaps.Replace(configMaps, 1)
	all := heap()
	b.ReportMetric(float64(objects), "B-of-objects")
	b.ReportMetric(float64(all-without), "B-of-index")
	b.ReportMetric(float64(references-without)/float64(empty.total), "B/reference")
	b.ReportMetric(float64(all-references)/benchObjects, "B/object")
	runtime.KeepAlive(configMaps)
	runtime.KeepAlive(pods)
	runtime.KeepAlive(f)
	runtime.KeepAlive(empty)
}
