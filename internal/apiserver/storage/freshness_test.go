package storage_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// Many writes do not shorten what the watch cache does by time: a list waits for its version
// for three seconds, and a watch ends with a bookmark.
func TestManyWritesDoNotMoveTheClock(t *testing.T) {
	t.Parallel()
	configMaps := servertest.Start(t, apiserver.Config{DataDir: t.TempDir()}).Client(t).CoreV1().ConfigMaps("default")
	const writes, wait = 480, 3 * time.Second
	first, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	version, err := strconv.Atoi(first.ResourceVersion)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		began := time.Now()
		_, err := configMaps.List(t.Context(), metav1.ListOptions{
			ResourceVersion: strconv.Itoa(version + writes), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		if err != nil && (!strings.Contains(err.Error(), "Too large resource version") || time.Since(began) < wait) {
			t.Errorf("a list of a version that comes soon: %v, after %v", err, time.Since(began))
		}
	})
	writeMany(t, configMaps, writes)
	running.Wait()

	// The server sends the bookmark two seconds before the end. A busy server may be late, but not each time.
	waittest.Until(t, "a watch ends with a bookmark", func() bool {
		writeMany(t, configMaps, writes)
		return countBookmarks(t, configMaps) > 0
	})
}

// countBookmarks returns the number of bookmarks of a watch of three seconds.
func countBookmarks(t *testing.T, configMaps corev1client.ConfigMapInterface) int {
	t.Helper()
	const timeout int64 = 3
	watcher, err := configMaps.Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: "0", TimeoutSeconds: new(timeout), AllowWatchBookmarks: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	bookmarks := 0
	for event := range watcher.ResultChan() {
		if event.Type == watch.Bookmark {
			bookmarks++
		}
	}
	return bookmarks
}

func writeMany(t *testing.T, configMaps corev1client.ConfigMapInterface, writes int) {
	const writers = 16
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("w-%d", writer)}}
			if _, err := configMaps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Error(err)
			}
			for i := range writes / writers {
				object.Data = map[string]string{"i": strconv.Itoa(i)}
				if _, err := configMaps.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}
