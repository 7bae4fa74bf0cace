package etcd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes/scheme"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// configMaps opens the storage of ConfigMaps.
func configMaps(t *testing.T, client *etcd.Client) storage.Interface {
	t.Helper()
	codec := scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion)
	config := storagebackend.NewDefaultConfig("/registry", codec).ForResource(corev1.Resource("configmaps"))
	store, destroy, err := client.Storage(config,
		func() runtime.Object { return &corev1.ConfigMap{} }, func() runtime.Object { return &corev1.ConfigMapList{} }, "/configmaps")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	return store
}

func create(ctx context.Context, store storage.Interface, name string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return store.Create(ctx, "/configmaps/"+name, object, &corev1.ConfigMap{}, 0)
}

// names returns the names of the ConfigMaps at a version, 0 for the newest.
func names(ctx context.Context, store storage.Interface, version uint64) ([]string, error) {
	options := storage.ListOptions{Recursive: true, Predicate: storage.Everything}
	if version > 0 {
		options.ResourceVersion = strconv.FormatUint(version, 10)
		options.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	}
	list := &corev1.ConfigMapList{}
	if err := store.GetList(ctx, "/configmaps", options, list); err != nil {
		return nil, err
	}
	var found []string
	for _, item := range list.Items {
		found = append(found, item.Name)
	}
	return found, nil
}

// start opens a member, which the test closes.
func start(t *testing.T, dir string) *etcd.Member {
	t.Helper()
	servertest.Quiet()
	member, err := etcd.Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	return member
}

// TestMemberKeepsData checks that a member which is started again has the objects that it
// stored before.
func TestMemberKeepsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "etcd")
	for _, name := range []string{"a", "b", "c"} {
		member := start(t, dir)
		client := member.Client()
		if err := create(t.Context(), configMaps(t, client), name); err != nil {
			t.Fatal(err)
		}
		client.Close()
		member.Close()
	}
	member := start(t, dir)
	defer member.Close()
	client := member.Client()
	defer client.Close()
	if err := client.Healthy(t.Context(), "/registry"); err != nil {
		t.Error(err)
	}
	got, err := names(t.Context(), configMaps(t, client), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Errorf("objects after a restart (-want +got):\n%s", diff)
	}
}

// TestClusterOutside checks that two clients of an etcd outside of the process see the
// same objects, and that one can read the keys in pages.
func TestClusterOutside(t *testing.T) {
	t.Parallel()
	servertest.Quiet()
	cluster := etcd.Cluster{Servers: []string{servertest.StartEtcd(t, transport.TLSInfo{})}}
	clients := make([]*etcd.Client, 2)
	for i := range clients {
		client, err := etcd.Connect(t.Context(), cluster)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		clients[i] = client
	}
	want := []string{"a", "b", "c", "d", "e"}
	store := configMaps(t, clients[0])
	for _, name := range want {
		if err := create(t.Context(), store, name); err != nil {
			t.Fatal(err)
		}
	}
	got, err := names(t.Context(), configMaps(t, clients[1]), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects of the other client (-want +got):\n%s", diff)
	}
	var sizes []int
	var keys []string
	for after := ""; ; {
		page, err := clients[1].Page(t.Context(), etcd.Range{Prefix: "/registry/configmaps/", After: after, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Pairs))
		for _, pair := range page.Pairs {
			keys = append(keys, filepath.Base(pair.Key))
			after = pair.Key
		}
		if len(page.Pairs) < 2 {
			break
		}
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys of all pages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 2, 1}, sizes); diff != "" {
		t.Errorf("sizes of the pages (-want +got):\n%s", diff)
	}
	page, err := clients[1].Page(t.Context(), etcd.Range{Prefix: "/registry/configmaps/", Limit: 5, KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, pair := range page.Pairs {
		if filepath.Base(pair.Key) != keys[i] || pair.Value != nil || pair.Revision == 0 {
			t.Errorf("without values: %+v", pair)
		}
	}
}

// TestCompaction checks that a member forgets its oldest versions and keeps the last
// 10,000.
func TestCompaction(t *testing.T) {
	t.Parallel()
	const writes, kept = 13_000, 10_000
	member := start(t, t.TempDir())
	defer member.Close()
	client := member.Client()
	defer client.Close()
	store := configMaps(t, client)
	if err := create(t.Context(), store, "first"); err != nil {
		t.Fatal(err)
	}
	first := currentVersion(t, store)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(64)
	for i := range writes {
		group.Go(func() error {
			name := fmt.Sprintf("object-%d", i%100)
			object := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"write": strconv.Itoa(i)},
			}
			replace := storage.SimpleUpdate(func(runtime.Object) (runtime.Object, error) { return object, nil })
			return store.GuaranteedUpdate(ctx, "/configmaps/"+name, &corev1.ConfigMap{}, true, nil, replace, nil)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the first version is compacted", func() bool {
		_, err := names(t.Context(), store, first)
		return apierrors.IsResourceExpired(err)
	})
	last := currentVersion(t, store)
	got, err := names(t.Context(), store, last-kept+1)
	if err != nil {
		t.Fatalf("a version that is %d writes old: %v", kept-1, err)
	}
	if !slices.Contains(got, "first") {
		t.Errorf("the old version has %v, want first among them", got)
	}
}

func currentVersion(t *testing.T, store storage.Interface) uint64 {
	t.Helper()
	version, err := store.GetCurrentResourceVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return version
}
