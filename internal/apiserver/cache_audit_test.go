//go:build !plain

package apiserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// opened returns a value that was read from a field without an exported name, as if it had one.
func opened(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// entries returns the entries of one of the server's own caches: those of the bounded.Cache in the field of an audited cache.
func (s auditedServer) entries(name string, fields ...string) *reflect.MapIter {
	s.t.Helper()
	caches, ok := opened(reflect.ValueOf(s.Auditor()).Elem().FieldByName("config").FieldByName("Caches")).Interface().(func() []cacheaudit.Cache)
	if !ok {
		s.t.Fatal("no caches")
	}
	for _, cache := range caches() {
		if cache.Name() != name {
			continue
		}
		v := reflect.ValueOf(cache)
		for _, field := range fields {
			v = v.FieldByName(field).Elem()
		}
		return opened(v.FieldByName("entries")).MapRange()
	}
	s.t.Fatalf("no cache %s", name)
	return nil
}

// changeText changes the cached texts of objects with a value, in place.
func (s auditedServer) changeText(field string) (changed int) {
	for all := s.entries("texts", "quick", "texts"); all.Next(); {
		text := all.Value().FieldByName("value").FieldByName(field).Bytes()
		if i := bytes.Index(text, []byte(`"right"`)); i >= 0 {
			copy(text[i:], `"wrong"`)
			changed++
		}
	}
	return changed
}

// mapIn returns the map in a field of a cached value.
func mapIn(v reflect.Value, field string) map[string]any {
	pointer := v.FieldByName("value").FieldByName(field).UnsafePointer()
	return *(*map[string]any)(unsafe.Pointer(&pointer))
}

// TestCacheAuditFindsCorruption changes each cache in place, as a defect of the server would. Clients get wrong answers until an audit finds
// it, and right ones afterwards. The server stays ready.
func TestCacheAuditFindsCorruption(t *testing.T) {
	if object.CheckFrozen {
		t.Skip("this build stops with a panic when a shared object was changed")
	}
	t.Parallel()
	s := startAudited(t, apiserver.Config{})
	const plural, collection = "bells", "/apis/" + auditedGroup + "/v1/namespaces/default/bells"
	defineAudited(t, s, plural)
	ctx, name := t.Context(), 0
	// create creates a right object, and lets the server cache it and its text.
	create := func() string {
		name++
		obj := auditedObject(plural, "v1", fmt.Sprint("o-", name), "right")
		if _, err := s.objects(plural, "v1").Create(ctx, obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.get(collection)
		return collection + "/" + obj.GetName()
	}
	for _, test := range []struct {
		name string
		// corrupt corrupts what the server keeps of an object, and returns a path whose answer then has a wrong text.
		corrupt func() (path, wrong string)
		// caches are those that the audit finds to be wrong.
		caches []string
	}{
		{"text", func() (string, string) {
			path := create()
			s.get(path)
			if s.changeText("json") == 0 {
				t.Fatal("no text is cached")
			}
			return path, `"wrong"`
		}, []string{"texts"}},
		{"tree", func() (string, string) {
			path := create()
			changed := 0
			for all := s.entries("trees", "trees", "cache"); all.Next(); {
				if spec, ok := mapIn(all.Value(), "content")["spec"].(map[string]any); ok && spec["a"] == "right" {
					spec["a"] = "wrong"
					changed++
				}
			}
			if changed == 0 {
				t.Fatal("no tree is kept")
			}
			// The metadata in YAML has no cached text.
			return path + "?pretty=true", `"wrong"`
		}, []string{"trees", "watch"}},
		{"set of managed fields", func() (string, string) {
			path := create()
			s.get(path)
			changed := 0
			for all := s.entries("fieldsets", "sets", "byText"); all.Next(); {
				if fields := mapIn(all.Value(), "fields"); fields["f:spec"] != nil {
					fields["f:wrong"] = map[string]any{}
					changed++
				}
			}
			if changed == 0 {
				t.Fatal("no set is kept")
			}
			return path + "?pretty=true&resourceVersion=0", `"f:wrong"`
		}, []string{"fieldsets", "trees", "watch"}},
		{"watch cache", func() (string, string) {
			maps := s.Client(t).CoreV1().ConfigMaps("default")
			created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "right"}}
			if _, err := maps.Create(ctx, created, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			s.get("/api/v1/namespaces/default/configmaps")
			list, err := s.Source()(corev1.SchemeGroupVersion.WithResource("configmaps")).ListWithContext(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			all := list.(*corev1.ConfigMapList).Items //nolint:forcetypeassert // the source has no others
			for i := range all {
				if all[i].Data["a"] == "right" {
					all[i].Data["a"] = "wrong" // the map is that of the cache
				}
			}
			return "/api/v1/namespaces/default/configmaps", `"wrong"`
		}, []string{"watch"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.AuditCaches(ctx)
			before := s.figures()
			path, wrong := test.corrupt()
			if answer := s.get(path); !strings.Contains(answer, wrong) {
				t.Fatalf("the answer of the corrupted server has no %s: %s", wrong, answer)
			}
			// An audit that cannot read fails, and finds nothing.
			var after map[string]float64
			waittest.Until(t, "an audit reads all caches", func() bool {
				last := s.figures()
				s.AuditCaches(ctx)
				after = s.figures()
				for key, n := range after {
					if strings.HasPrefix(key, "failures_total") && n > last[key] {
						return false
					}
				}
				return true
			})
			for _, cache := range []string{"texts", "trees", "fieldsets", "watch"} {
				key := fmt.Sprintf("differences_total{cache=%q}", cache)
				found := after[key] > before[key]
				if want := strings.Contains(strings.Join(test.caches, " "), cache); found != want {
					t.Errorf("%s: from %v to %v differences", cache, before[key], after[key])
				}
			}
			waittest.Until(t, "the server is ready", func() error { // it is not while etcd is slow
				return s.Client(t).Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
			})
			waittest.Until(t, "the answer is right", func() bool { return !strings.Contains(s.get(path), wrong) })
			s.AuditCaches(ctx)
			for key, n := range s.figures() {
				if strings.HasPrefix(key, "differences_total") && n > after[key] {
					t.Errorf("%s: an audit of the caches that were dropped found %v more", key, n-after[key])
				}
			}
		})
	}
}

// TestCacheAuditHasNoFalseAlarms audits a server all the time while clients write objects of several kinds and versions, replace and delete them,
// change a definition, and compact etcd.
func TestCacheAuditHasNoFalseAlarms(t *testing.T) {
	t.Parallel()
	url := servertest.StartEtcd(t, transport.TLSInfo{})
	s := startAudited(t, apiserver.Config{
		DataDir: t.TempDir(), Etcd: etcd.Cluster{Servers: []string{url}}, Limits: config.Limits{EventTTL: time.Second},
	})
	const plural, writers, writes = "gongs", 4, 600
	defineAudited(t, s, plural)
	ctx, client := t.Context(), s.Client(t)
	done := make(chan struct{})
	var busy, beside sync.WaitGroup
	var written atomic.Int64
	count := func(err error) {
		if err == nil {
			written.Add(1)
		}
	}
	for n := range writers {
		busy.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range writes {
				version, name, value := []string{"v1", "v2"}[r.IntN(2)], fmt.Sprint("o-", r.IntN(40)), strings.Repeat("x", r.IntN(200))
				objects, maps := s.objects(plural, version), client.CoreV1().ConfigMaps("default")
				patch := fmt.Appendf(nil, `{"spec":{"a":%q,"n":%d}}`, value, i)
				switch r.IntN(10) {
				case 0, 1, 2:
					_, err := objects.Create(ctx, auditedObject(plural, version, name, value), metav1.CreateOptions{FieldManager: fmt.Sprint("m-", n)})
					count(err)
				case 3, 4, 5:
					_, err := objects.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
					count(err)
				case 6:
					count(objects.Delete(ctx, name, metav1.DeleteOptions{}))
				case 7:
					_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
					count(err)
					count(maps.Delete(ctx, fmt.Sprint("o-", r.IntN(40)), metav1.DeleteOptions{}))
				case 8:
					_, err := client.CoreV1().Events("default").Create(ctx, &corev1.Event{
						ObjectMeta: metav1.ObjectMeta{GenerateName: "e-"}, InvolvedObject: corev1.ObjectReference{Namespace: "default", Name: name},
					}, metav1.CreateOptions{})
					count(err)
				case 9:
					if stored, err := objects.Get(ctx, name, metav1.GetOptions{}); err == nil {
						body, err := json.Marshal(stored)
						if err != nil {
							t.Error(err)
						}
						path := "/apis/" + auditedGroup + "/" + version + "/namespaces/default/" + plural + "/" + name + "?holdfast=replace"
						answer := client.CoreV1().RESTClient().Put().RequestURI(path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx)
						count(answer.Error())
					}
				}
				// Lists and reads fill the caches of texts.
				if i%5 == 0 {
					_, _ = objects.List(ctx, metav1.ListOptions{})
				}
			}
		})
	}
	beside.Go(func() { // a definition that changes, one that comes and goes, and compactions
		raw, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Context: ctx})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = raw.Close() }()
		for round := 0; ; round++ {
			select {
			case <-done:
				return
			default:
			}
			if round%10 == 0 { // a changed definition begins with empty caches
				changed := auditedDefinition(t, plural, fmt.Sprintf(", x%d: {type: string, default: d}", round%3))
				patch := fmt.Appendf(nil, `{"spec":%s}`, marshal(t, changed.Object["spec"]))
				_, _ = s.Resource(crdResource).Patch(ctx, plural+"."+auditedGroup, types.MergePatchType, patch, metav1.PatchOptions{})
			}
			_, _ = s.Resource(crdResource).Create(ctx, auditedDefinition(t, "drums", ""), metav1.CreateOptions{})
			_, _ = s.objects("drums", "v2").Create(ctx, auditedObject("drums", "v2", "d", "x"), metav1.CreateOptions{})
			_, _ = s.objects("drums", "v1").List(ctx, metav1.ListOptions{})
			_ = s.Resource(crdResource).Delete(ctx, "drums."+auditedGroup, metav1.DeleteOptions{})
			if now, err := raw.Get(ctx, "x"); err == nil {
				_, _ = raw.Compact(ctx, now.Header.Revision)
			}
		}
	})
	audits := 0
	beside.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				s.AuditCaches(ctx)
				audits++
			}
		}
	})
	busy.Wait()
	close(done)
	beside.Wait()
	s.AuditCaches(ctx)
	figures := s.figures()
	t.Logf("%d writes, %d audits: %v", written.Load(), audits, figures)
	for _, cache := range []string{"texts", "trees", "fieldsets", "watch"} {
		if n := figures[fmt.Sprintf("differences_total{cache=%q}", cache)]; n != 0 {
			t.Errorf("%v entries of %s differ", n, cache)
		}
		if figures[fmt.Sprintf("entries_total{cache=%q,result=\"same\"}", cache)] == 0 {
			t.Errorf("no entry of %s was compared", cache)
		}
	}
	if written.Load() < writers*writes/4 || audits == 0 {
		t.Errorf("%d writes and %d audits are too few", written.Load(), audits)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return text
}
