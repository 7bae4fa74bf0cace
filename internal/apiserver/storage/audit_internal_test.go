package storage

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/consistency"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/waittest"
)

const auditedObjects = 10

// auditedStore is the storage of ConfigMaps, with a watch cache that is compared in pages of three objects.
type auditedStore struct {
	storage.Interface
	cache   *watchCache
	caches  *WatchCaches
	destroy func()
}

func openAudited(t *testing.T) auditedStore {
	t.Helper()
	member, err := etcd.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Close)
	client, scheme, caches := member.Client(), native.NewScheme(), &WatchCaches{}
	t.Cleanup(client.Close)
	all := Options{Client: client, Scheme: scheme, Codecs: serializer.NewCodecFactory(scheme), WatchCaches: caches}
	options, err := all.GetRESTOptions(corev1.Resource("configmaps"), &corev1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	keyOf := func(obj runtime.Object) (string, error) {
		named, err := meta.Accessor(obj)
		if err != nil {
			return "", err
		}
		return "/configmaps/" + named.GetNamespace() + "/" + named.GetName(), nil
	}
	store, destroy, err := options.Decorator(options.StorageConfig, "/configmaps", keyOf, func() runtime.Object { return &corev1.ConfigMap{} },
		func() runtime.Object { return &corev1.ConfigMapList{} }, storage.DefaultNamespaceScopedAttr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	s := auditedStore{Interface: store, cache: caches.open[0], caches: caches, destroy: destroy}
	s.cache.limit = 3
	for i := range auditedObjects {
		s.create(t, fmt.Sprint("m-", i))
	}
	waittest.Until(t, "the cache is filled", s.cache.cached.Ready)
	return s
}

func (s auditedStore) create(t *testing.T, name string) {
	t.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"a": "b"}}
	if err := s.Create(t.Context(), "/configmaps/ns/"+name, obj, &corev1.ConfigMap{}, 0); err != nil {
		t.Fatal(err)
	}
}

func (s auditedStore) change(t *testing.T, name string) {
	t.Helper()
	err := s.GuaranteedUpdate(t.Context(), "/configmaps/ns/"+name, &corev1.ConfigMap{}, false, nil,
		storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
			changed := obj.DeepCopyObject().(*corev1.ConfigMap) //nolint:forcetypeassert // the store has no others
			changed.Data["a"] += "b"
			return changed, nil
		}), nil)
	if err != nil {
		t.Fatal(err)
	}
}

func (s auditedStore) remove(t *testing.T, name string) {
	t.Helper()
	err := s.Delete(t.Context(), "/configmaps/ns/"+name, &corev1.ConfigMap{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// audit audits the caches once, and returns the counted entries by result, and the failures.
func (s auditedStore) audit(t *testing.T) map[string]float64 {
	t.Helper()
	auditor := cacheaudit.New(cacheaudit.Config{Interval: 1, Caches: s.caches.Audited})
	auditor.Audit(t.Context())
	registry := prometheus.NewRegistry()
	registry.MustRegister(auditor.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			key := family.GetName()
			for _, pair := range metric.GetLabel() {
				if pair.GetName() == "result" {
					key = pair.GetValue()
				}
			}
			if counter := metric.GetCounter(); counter.GetValue() > 0 {
				got[key] = counter.GetValue()
			}
		}
	}
	return got
}

// TestAuditFindsDifferences compares pages that differ from the cache, as a wrong cache would.
func TestAuditFindsDifferences(t *testing.T) {
	t.Parallel()
	s := openAudited(t)
	s.cache.limit = auditedObjects - 2
	changed := func(p page, i int, change func(*corev1.ConfigMap)) page {
		obj := p.items[i].object.DeepCopyObject().(*corev1.ConfigMap) //nolint:forcetypeassert // the store has no others
		change(obj)
		p.items[i].object = obj
		return p
	}
	key := func(name string) string { return "/configmaps/ns/" + name }
	for name, test := range map[string]struct {
		corrupt func(page) page
		want    []string
	}{
		"right":            {func(p page) page { return p }, nil},
		"another object":   {func(p page) page { p.items[1].object = p.items[2].object; return p }, []string{key("m-1")}},
		"one is missing":   {func(p page) page { p.items = slices.Delete(p.items, 4, 5); return p }, []string{key("m-4")}},
		"the first two":    {func(p page) page { p.items = p.items[2:]; return p }, []string{key("m-0"), key("m-1")}},
		"nothing is there": {func(p page) page { p.items, p.complete = p.items[:1], true; return p }, missing(1, auditedObjects)},
		"a deleted object": {
			func(p page) page { p.items = slices.Insert(p.items, 2, item{key("m-1a"), p.items[1].object}); return p }, []string{key("m-1a")},
		},
		"a deleted object at the end": {
			func(p page) page { p.items = append(p.items, item{key("m-7a"), p.items[1].object}); return p }, []string{key("m-7a")},
		},
		"another revision": {
			func(p page) page { return changed(p, 3, func(m *corev1.ConfigMap) { m.ResourceVersion += "0" }) }, []string{key("m-3")},
		},
		"another value": {
			func(p page) page { return changed(p, 3, func(m *corev1.ConfigMap) { m.Data["a"] = "c" }) }, []string{key("m-3")},
		},
		"another label": {
			func(p page) page {
				return changed(p, 0, func(m *corev1.ConfigMap) { m.Labels = map[string]string{"x": "y"} })
			}, []string{key("m-0")},
		},
		// An empty map has the encoding of none.
		"another form in memory": {
			func(p page) page { return changed(p, 3, func(m *corev1.ConfigMap) { m.Labels = map[string]string{} }) }, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cached, err := s.cache.page(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			cached.items = slices.Clone(cached.items)
			found, err := s.cache.compare(t.Context(), &cacheaudit.Pass{}, test.corrupt(cached))
			if diff := cmp.Diff(test.want, found.wrong); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func missing(from, to int) []string {
	var keys []string
	for i := from; i < to; i++ {
		keys = append(keys, fmt.Sprint("/configmaps/ns/m-", i))
	}
	return keys
}

// A write after the cache was read is no difference, and neither is one between two pages.
func TestAuditSeesOneRevision(t *testing.T) {
	t.Parallel()
	s := openAudited(t)
	seen, after := 0, ""
	for round := 0; ; round++ {
		cached, err := s.cache.page(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		s.change(t, "m-9")
		s.create(t, fmt.Sprint("a-", round))
		if round < 3 {
			s.remove(t, fmt.Sprint("m-", 2*round+1))
		}
		found, err := s.cache.compare(t.Context(), &cacheaudit.Pass{}, cached)
		if err != nil || len(found.wrong) > 0 || found.skipped > 0 {
			t.Fatalf("%v: %+v", err, found)
		}
		if seen += found.same; found.complete {
			break
		}
		after = found.last
	}
	if seen < auditedObjects-3 {
		t.Errorf("%d objects were compared", seen)
	}
}

// TestAuditDropsCache changes an object of the cache in place. The audit finds it, the cache is filled again, and the watches end.
func TestAuditDropsCache(t *testing.T) {
	t.Parallel()
	s := openAudited(t)
	if diff := cmp.Diff(map[string]float64{"same": auditedObjects}, s.audit(t)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	watch, err := s.Watch(t.Context(), "/configmaps", storage.ListOptions{Recursive: true, Predicate: storage.Everything, ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	cached := func() *corev1.ConfigMap {
		list := &corev1.ConfigMapList{}
		options := storage.ListOptions{Recursive: true, Predicate: storage.Everything, ResourceVersion: "0"}
		if err := s.GetList(t.Context(), "/configmaps", options, list); err != nil {
			t.Fatal(err)
		}
		return &list.Items[4]
	}
	cached().Data["a"] = "wrong" // the map is that of the cache
	if got := cached().Data["a"]; got != "wrong" {
		t.Fatalf("the cache has %q", got)
	}
	want := map[string]float64{"same": auditedObjects - 1, "different": 1, "holdfast_cache_audit_differences_total": 1}
	if diff := cmp.Diff(want, s.audit(t)); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	// The watch sends what exists, and ends.
	for waittest.Receive(t, "the end of the watch", watch.ResultChan()).Object != nil {
	}
	waittest.Until(t, "the cache is filled again", func() bool { return s.cache.cached.Ready() && cached().Data["a"] == "b" })
	if diff := cmp.Diff(map[string]float64{"same": auditedObjects}, s.audit(t)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.destroy()
	if got := s.audit(t); len(got) > 0 || s.cache.Compare(t.Context(), &cacheaudit.Pass{}) != nil {
		t.Errorf("a closed cache is audited: %v", got)
	}
}

// At returns the state of an object that a revision wrote, and nothing for a revision that wrote another object or none.
func TestAt(t *testing.T) {
	t.Parallel()
	s := openAudited(t)
	readable := Readable{Client: s.cache.client}
	revision := func(name string) int64 {
		t.Helper()
		stored := &corev1.ConfigMap{}
		if err := s.Get(t.Context(), "/configmaps/ns/"+name, storage.GetOptions{}, stored); err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(stored.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.create(t, "m-10") // its key begins with that of m-1
	first, other := revision("m-1"), revision("m-2")
	s.change(t, "m-1")
	second := revision("m-1")
	s.remove(t, "m-1")
	for name, test := range map[string]struct {
		name     string
		revision int64
		want     string
	}{
		"the first state":               {"m-1", first, "b"},
		"the second state":              {"m-1", second, "bb"},
		"its deletion":                  {"m-1", second + 1, ""},
		"a revision of another object":  {"m-1", other, ""},
		"the newest state":              {"m-2", other, "b"},
		"a revision that is to come":    {"m-2", second + 1000, ""},
		"an object that never was":      {"n", first, ""},
		"another object with the start": {"m-1", revision("m-10"), ""},
	} {
		stored, err := readable.At(t.Context(), corev1.Resource("configmaps"), "ns", test.name, test.revision)
		if err != nil || (stored != nil) != (test.want != "") {
			t.Errorf("%s: %v, %v", name, stored, err)
			continue
		}
		if stored == nil {
			continue
		}
		// The text has the value with its length before it.
		value := append([]byte{byte(len(test.want))}, test.want...)
		if stored.Revision != test.revision || stored.FullName() != "ns/"+test.name || !bytes.Contains(stored.Text, value) {
			t.Errorf("%s: %s at %d: %q", name, stored.FullName(), stored.Revision, stored.Text)
		}
	}
}

// The library neither compares its watch caches nor ends the process, whatever the environment says.
func TestLibraryDoesNotCheck(t *testing.T) {
	t.Parallel()
	openAudited(t)
	if utilfeature.DefaultFeatureGate.Enabled(features.DetectCacheInconsistency) || consistency.PanicOnCacheInconsistency {
		t.Error("the library compares its watch caches")
	}
}
