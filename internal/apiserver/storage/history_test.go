package storage_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// The watch history holds a bounded number of events: a watch resumes from a recent
// version, and one from a version before the bound gets the error 410.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	configMaps := client.CoreV1().ConfigMaps("default")
	first, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const writes = 7200
	writeMany(t, configMaps, writes)
	last, err := configMaps.Get(t.Context(), "w-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.Atoi(last.ResourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	// A list waits until the cache has seen all writes.
	if _, err := configMaps.List(t.Context(), metav1.ListOptions{LabelSelector: "none"}); err != nil {
		t.Fatal(err)
	}
	if err := watchFrom(t, client.CoreV1().ConfigMaps("default"), strconv.Itoa(version-1000)); err != nil {
		t.Errorf("a watch from 1,000 versions ago: %v", err)
	}
	err = watchFrom(t, client.CoreV1().ConfigMaps("default"), first.ResourceVersion)
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from %d writes ago: %v, want 410", writes, err)
	}
}

// watchFrom starts a watch at a version and returns its error, or that of its first event.
func watchFrom(t *testing.T, configMaps interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, version string,
) error {
	t.Helper()
	watcher, err := configMaps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	event := <-watcher.ResultChan()
	if status, ok := event.Object.(*metav1.Status); ok {
		return &apierrors.StatusError{ErrStatus: *status}
	}
	return nil
}

// The events of large objects take more of the history: it holds only the last 100 of them.
func TestHistoryOfLargeObjectsIsBounded(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t)
	configMaps := client.CoreV1().ConfigMaps("default")
	large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{"text": strings.Repeat("x", 1<<20-1<<10)}}
	written, err := configMaps.Create(t.Context(), large, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := written.ResourceVersion
	for i := range 101 {
		label := fmt.Appendf(nil, `{"metadata":{"labels":{"number":"%d"}}}`, i)
		if written, err = configMaps.Patch(t.Context(), "large", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The watch cache has the last event when a list shows it.
	if _, err := configMaps.List(t.Context(), metav1.ListOptions{LabelSelector: "number=0"}); err != nil {
		t.Fatal(err)
	}
	if err := watchFrom(t, configMaps, first); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from 100 writes ago, to %s: %v, want 410", written.ResourceVersion, err)
	}
}
