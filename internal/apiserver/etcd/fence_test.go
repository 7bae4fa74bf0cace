package etcd_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// Every write with a fence needs the revision that the key of the fence has. Other errors are those of a write without a fence.
func TestFence(t *testing.T) {
	t.Parallel()
	member := start(t, filepath.Join(t.TempDir(), "etcd"))
	defer member.Close()
	client := member.Client()
	defer client.Close()
	store := configMaps(t, client)
	if err := create(t.Context(), store, "fence"); err != nil {
		t.Fatal(err)
	}
	fence := &corev1.ConfigMap{}
	if err := store.Get(t.Context(), "/configmaps/fence", storage.GetOptions{}, fence); err != nil {
		t.Fatal(err)
	}
	revision, err := strconv.ParseInt(fence.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	const key = "/registry/configmaps/fence"
	holds := etcd.WithFence(t.Context(), etcd.Fence{Key: key, Revision: revision})
	broken := etcd.WithFence(t.Context(), etcd.Fence{Key: key, Revision: revision - 1})
	label := func(current runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		object := current.(*corev1.ConfigMap)
		object.Labels = map[string]string{"changed": object.ResourceVersion}
		return object, nil, nil
	}
	isBroken := func(err error) bool {
		var failed *etcd.FenceError
		return errors.As(err, &failed) && failed.Current == revision
	}
	if err := create(broken, store, "a"); !isBroken(err) {
		t.Errorf("create behind a broken fence: %v", err)
	}
	if err := create(holds, store, "a"); err != nil {
		t.Errorf("create: %v", err)
	}
	if err := create(holds, store, "a"); !storage.IsExist(err) {
		t.Errorf("a second create: %v", err)
	}
	if err := store.GuaranteedUpdate(broken, "/configmaps/a", &corev1.ConfigMap{}, false, nil, label, nil); !isBroken(err) {
		t.Errorf("update behind a broken fence: %v", err)
	}
	// The cached object is not the stored one, so the store reads it after the first try.
	if err := store.GuaranteedUpdate(holds, "/configmaps/a", &corev1.ConfigMap{}, false, nil, label, fence); err != nil {
		t.Errorf("update: %v", err)
	}
	// A change of the fence that does not matter to the writer is no obstacle.
	renewed := etcd.WithFence(t.Context(), etcd.Fence{Key: key, Revision: revision - 1, Renew: func(_ context.Context, failed *etcd.FenceError) (int64, bool) {
		return failed.Current, true
	}})
	if err := create(renewed, store, "renewed"); err != nil {
		t.Errorf("create behind a fence that can be renewed: %v", err)
	}
	refused := etcd.WithFence(t.Context(), etcd.Fence{Key: key, Revision: revision - 1, Renew: func(context.Context, *etcd.FenceError) (int64, bool) {
		return revision, false
	}})
	if err := create(refused, store, "refused"); !isBroken(err) {
		t.Errorf("create behind a fence that cannot be renewed: %v", err)
	}
	remove := func(fenced bool) error {
		ctx := holds
		if !fenced {
			ctx = broken
		}
		return store.Delete(ctx, "/configmaps/a", &corev1.ConfigMap{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	}
	if err := remove(false); !isBroken(err) {
		t.Errorf("delete behind a broken fence: %v", err)
	}
	if err := remove(true); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// A write with a fence of spans needs that no key in one of them was written. The spans may be many.
func TestFenceOfSpans(t *testing.T) {
	t.Parallel()
	member := start(t, filepath.Join(t.TempDir(), "etcd"))
	defer member.Close()
	client := member.Client()
	defer client.Close()
	store := configMaps(t, client)
	for _, name := range []string{"a", "b", "x/1", "y/1"} {
		if err := create(t.Context(), store, name); err != nil {
			t.Fatal(err)
		}
	}
	page, err := client.Page(t.Context(), etcd.Range{Prefix: "/registry/", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	spans := []etcd.Span{etcd.WithPrefix("/registry/configmaps/x/"), etcd.WithPrefix("/registry/configmaps/y/")}
	for i := range 300 {
		spans = append(spans, etcd.WithPrefix("/registry/empty"+strconv.Itoa(i)+"/"))
	}
	fence := etcd.Fence{Revision: page.Revision, Spans: spans}
	remove := func(name string, fence etcd.Fence) error {
		ctx := etcd.WithFence(t.Context(), fence)
		return store.Delete(ctx, "/configmaps/"+name, &corev1.ConfigMap{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	}
	// Neither writes of other keys nor deletions break the fence.
	if err := create(t.Context(), store, "c"); err != nil {
		t.Fatal(err)
	}
	if err := remove("y/1", etcd.Fence{Revision: page.Revision}); err != nil {
		t.Fatal(err)
	}
	if err := remove("a", fence); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := create(t.Context(), store, "x/2"); err != nil {
		t.Fatal(err)
	}
	var failed *etcd.FenceError
	if err := remove("b", fence); !errors.As(err, &failed) || failed.Current <= page.Revision {
		t.Errorf("delete behind a broken fence: %v", err)
	}
	fence.Renew = func(_ context.Context, failed *etcd.FenceError) (int64, bool) { return failed.Current, true }
	if err := remove("b", fence); err != nil {
		t.Errorf("delete behind a fence that can be renewed: %v", err)
	}
	// A span from one prefix to the end of another one has what is in between.
	page, err = client.Page(t.Context(), etcd.Range{Prefix: "/registry/", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w/1", "d"} {
		if err := create(t.Context(), store, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, first, last string
		deleted           bool
	}{{"c", "/registry/configmaps/v/", "/registry/configmaps/x/", false}, {"d", "/registry/configmaps/x/", "/registry/configmaps/y/", true}} {
		between := etcd.Fence{Revision: page.Revision, Spans: []etcd.Span{{First: test.first, End: etcd.WithPrefix(test.last).End}}}
		if err := remove(test.name, between); (err == nil) != test.deleted {
			t.Errorf("delete behind a fence from %s to %s: %v", test.first, test.last, err)
		}
	}
	// Without the object, the error is that of any delete.
	if err := remove("b", fence); !storage.IsNotFound(err) {
		t.Errorf("delete of an object that is gone: %v", err)
	}
}

// Replace stores a value only if the pair is the stored one and the fence holds.
func TestReplace(t *testing.T) {
	t.Parallel()
	member := start(t, filepath.Join(t.TempDir(), "etcd"))
	defer member.Close()
	client := member.Client()
	defer client.Close()
	store := configMaps(t, client)
	for _, name := range []string{"fence", "a"} {
		if err := create(t.Context(), store, name); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) etcd.Pair {
		found, err := client.Firsts(t.Context(), []string{"/registry/configmaps/" + name})
		if err != nil || found[0] == nil {
			t.Fatal(found, err)
		}
		return *found[0]
	}
	fence, first := read("fence"), read("a")
	holds := etcd.WithFence(t.Context(), etcd.Fence{Key: fence.Key, Revision: fence.Revision})
	broken := etcd.WithFence(t.Context(), etcd.Fence{Key: fence.Key, Revision: fence.Revision - 1})
	var failed *etcd.FenceError
	if _, err := client.Replace(broken, first, []byte("b")); !errors.As(err, &failed) {
		t.Errorf("replace behind a broken fence: %v", err)
	}
	for i, test := range []struct {
		ctx  context.Context
		want bool
	}{{holds, true}, {holds, false}, {t.Context(), false}} {
		if replaced, err := client.Replace(test.ctx, first, []byte("b")); replaced != test.want || err != nil {
			t.Errorf("replace %d: %t, %v", i, replaced, err)
		}
	}
	second := read("a")
	if replaced, err := client.Replace(t.Context(), second, []byte("c")); !replaced || err != nil {
		t.Errorf("replace without a fence: %t, %v", replaced, err)
	}
	if got := read("a"); string(got.Value) != "c" || got.Revision <= second.Revision {
		t.Errorf("stored %q at %d", got.Value, got.Revision)
	}
}
