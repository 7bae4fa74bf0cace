package managers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/native/openapi"
	"holdfast.dev/holdfast/internal/yamltest"
)

// objects are the objects that the fuzz test changes.
var objects = []string{`
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default, labels: {a: b}, annotations: {c: d}, finalizers: [x.example.com/y]}
data: {a: b, c: d, e: f}
binaryData: {g: aGk=}
`, `
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, labels: {a: b}}
spec:
  nodeName: node-1
  priority: 3
  tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists, effect: NoExecute}]
  containers:
  - {name: a, image: b, ports: [{containerPort: 80, protocol: TCP}, {containerPort: 81, protocol: UDP}], env: [{name: A, value: a}, {name: B, value: b}]}
  - {name: b, image: c, resources: {limits: {cpu: "1", memory: 1Gi}}, args: [a, b]}
status:
  phase: Running
  podIP: 10.0.0.1
  podIPs: [{ip: 10.0.0.1}]
  startTime: "2026-01-01T00:00:00Z"
  conditions:
  - {type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Initialized, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z", reason: r}
  containerStatuses:
  - {name: a, image: b, imageID: c, ready: true, restartCount: 1, state: {running: {startedAt: "2026-01-01T00:00:00Z"}}}
`, `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {a: b}}
spec: {podCIDR: 10.0.0.0/24, taints: [{key: a, effect: NoSchedule}]}
status:
  capacity: {cpu: "1", memory: 1Gi}
  conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-01-01T00:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z"}]
  addresses: [{type: InternalIP, address: 10.0.0.1}]
  images: [{names: [a, b], sizeBytes: 5}]
  nodeInfo: {kubeletVersion: v1}
`}

// earlier is a time before all writes of the tests.
var earlier = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

// kinds are the endpoints of each object: those of the object and of its status.
func kinds(t testing.TB) [][2]*Recorder {
	t.Helper()
	scheme := native.NewScheme()
	models := genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, openapinamer.NewDefinitionNamer(native.NewPublishedScheme()))
	sets := NewSets()
	var out [][2]*Recorder
	for _, text := range objects {
		example := yamltest.Kind(t, scheme, text)
		types := NewTypes(models, example)
		var both [2]*Recorder
		for i, reset := range []*fieldpath.Set{
			fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
			fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata", "ownerReferences")),
		} {
			recorder, err := New(Config{
				Scheme: scheme, Types: types, Kind: example.GetObjectKind().GroupVersionKind(), Subresource: []string{"", "status"}[i], Sets: sets,
				Reset: fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{"v1": reset}),
			})
			if err != nil {
				t.Fatal(err)
			}
			both[i] = recorder
		}
		out = append(out, both)
	}
	return out
}

// FuzzUpdate writes an object in steps by random managers, and compares the managed fields after each step with those of the library.
func FuzzUpdate(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	recorders, scheme := kinds(f), native.NewScheme()
	writes, quick := 0, 0
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		n := random.IntN(len(objects))
		stored := recorders[n][0].created(t, yamltest.Kind(t, scheme, objects[n]))
		for range 20 {
			age(t, stored)
			recorder, manager := recorders[n][random.IntN(2)], []string{"creator", "creator", "other", "unknown"}[random.IntN(4)]
			obj := recorder.changed(t, random, stored)
			want := recorder.library.UpdateNoErrors(stored.DeepCopyObject(), obj.DeepCopyObject(), strings.TrimPrefix(manager, "unknown"))
			unchanged := stored.DeepCopyObject()
			got, ok := recorder.quick(stored, obj, manager)
			if diff := cmp.Diff(unchanged, stored); diff != "" {
				t.Fatalf("the stored object has changed (-before +after):\n%s", diff)
			}
			writes++
			if ok {
				quick++
				if diff := cmp.Diff(entriesOf(t, accessor(t, want).GetManagedFields()), entriesOf(t, got)); diff != "" {
					t.Fatalf("%s writes to %q (-library +quick):\n%s", manager, recorder.Subresource, diff)
				}
			}
			// The library records no managers for an object without any.
			if stored = want; len(accessor(t, stored).GetManagedFields()) == 0 {
				return
			}
		}
	})
	if writes >= 100 && quick < writes/8 {
		f.Errorf("%d of %d writes are quick", quick, writes)
	}
}

// created returns a stored object, as the manager "creator" has created it.
func (r *Recorder) created(t *testing.T, obj runtime.Object) runtime.Object {
	t.Helper()
	empty, err := r.Scheme.New(r.Kind)
	if err != nil {
		t.Fatal(err)
	}
	obj = r.library.UpdateNoErrors(empty, obj, "creator")
	accessor(t, obj).SetUID("u")
	return obj
}

// age sets the time of all entries to one before the test.
func age(t *testing.T, obj runtime.Object) {
	t.Helper()
	entries := accessor(t, obj).GetManagedFields()
	for i := range entries {
		entries[i].Time = earlier.DeepCopy()
	}
}

// entriesOf returns entries as texts. A time of the test is now.
func entriesOf(t *testing.T, entries []metav1.ManagedFieldsEntry) []string {
	t.Helper()
	var out []string
	for _, entry := range entries {
		if time.Since(entry.Time.Time) < time.Hour {
			entry.Time = nil
		}
		text, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// changed returns a copy of an object with one or two random changes. Most replace a value.
func (r *Recorder) changed(t *testing.T, random *rand.Rand, stored runtime.Object) runtime.Object {
	t.Helper()
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		t.Fatal(err)
	}
	kept := accessor(t, stored.DeepCopyObject()).GetManagedFields()
	metadata, _ := tree["metadata"].(map[string]any)
	for _, key := range []string{"managedFields", "creationTimestamp"} {
		delete(metadata, key)
	}
	for range 1 + random.IntN(2) {
		leaves := leavesIn(tree, "")
		leaf := leaves[random.IntN(len(leaves))]
		switch n := random.IntN(20); {
		case leaf.path == ".kind" || leaf.path == ".apiVersion" || strings.HasPrefix(leaf.path, ".metadata.n"):
		case n == 0:
			leaf.remove()
		case n == 1:
			metadata["labels"] = map[string]any{"a": "b", fmt.Sprint("l", random.IntN(3)): "x"}
		default:
			leaf.set(other(random, leaf.value))
		}
	}
	if random.IntN(4) == 0 {
		delete(metadata, "uid")
	}
	obj, err := r.Scheme.New(r.Kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, obj); err != nil {
		t.Fatal(err)
	}
	switch random.IntN(20) {
	case 0:
		kept = []metav1.ManagedFieldsEntry{}
	case 1:
		kept = nil
	case 2:
		kept = kept[: len(kept)-1 : len(kept)-1]
	}
	accessor(t, obj).SetManagedFields(kept)
	return obj
}

// leaf is a value in a tree that is no object and no list.
type leaf struct {
	path   string
	value  any
	set    func(any)
	remove func()
}

func leavesIn(v any, path string) (out []leaf) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			set, remove := func(to any) { v[key] = to }, func() { delete(v, key) }
			if _, isMap := v[key].(map[string]any); isMap {
				out = append(out, leavesIn(v[key], path+"."+key)...)
			} else if list, isList := v[key].([]any); isList {
				for i := range list {
					out = append(out, leavesIn(list[i], fmt.Sprintf("%s.%s[%d]", path, key, i))...)
				}
				out = append(out, leaf{path + "." + key, nil, func(any) { v[key] = append(list, list[0]) }, remove})
			} else {
				out = append(out, leaf{path + "." + key, v[key], set, remove})
			}
		}
	}
	return out
}

// other returns another value of the same form.
func other(random *rand.Rand, v any) any {
	n := random.IntN(9) + 1
	switch v := v.(type) {
	case bool:
		return !v
	case int64:
		return v + int64(n)
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.Add(time.Duration(n) * time.Minute).Format(time.RFC3339)
		}
		for _, one := range []string{"Gi", "==", "="} {
			if strings.HasSuffix(v, one) {
				return map[string]string{"Gi": fmt.Sprint(n, "Gi"), "=": "aGs=", "==": "aA=="}[one]
			}
		}
		if _, err := strconv.Atoi(v); err == nil {
			return strconv.Itoa(n)
		}
		return v + strconv.Itoa(n)
	}
	return v
}

func accessor(t *testing.T, obj runtime.Object) metav1.Object {
	t.Helper()
	out, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
