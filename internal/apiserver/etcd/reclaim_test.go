package etcd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// smallDatabase is a member with a database of some megabytes.
type smallDatabase struct {
	*etcd.Member
	client *etcd.Client
	store  storage.Interface
}

func openSmall(t *testing.T, dir string) smallDatabase {
	t.Helper()
	servertest.Quiet()
	member, err := etcd.StartWithQuota(dir, 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	client := member.Client()
	return smallDatabase{member, client, configMaps(t, client)}
}

func (d smallDatabase) close() {
	d.client.Close()
	d.Close()
}

// fill writes until the database is full, and returns the number of writes. etcd may have stored the last one, which it refused. It
// raises the alarm a moment later.
func (d smallDatabase) fill(t *testing.T, write func(n int) error) int {
	t.Helper()
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = write(n)
	}
	if !saysFull(err) {
		t.Fatalf("after %d writes: %v", n, err)
	}
	return n
}

func saysFull(err error) bool {
	return err != nil && strings.Contains(err.Error(), "the database of etcd is full: delete objects that are not needed")
}

func (d smallDatabase) hasAlarm(ctx context.Context) func() bool {
	return func() bool { return slices.Contains(d.client.Members(ctx)[0].Alarms, "NOSPACE") }
}

// createLarge creates the ConfigMap large-N, of half a megabyte.
func (d smallDatabase) createLarge(ctx context.Context, n int) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("large-", n)}, Data: half}
	return d.store.Create(ctx, "/configmaps/"+object.Name, object, &corev1.ConfigMap{}, 0)
}

// deleteLarge deletes the ConfigMap large-N if there is one.
func (d smallDatabase) deleteLarge(t *testing.T, n int) {
	t.Helper()
	key := fmt.Sprint("/configmaps/large-", n)
	err := d.store.Delete(t.Context(), key, &corev1.ConfigMap{}, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	if err != nil && !storage.IsNotFound(err) {
		t.Fatal(err)
	}
}

var half = map[string]string{"large": strings.Repeat("x", 500<<10)}

// TestDatabaseFullOfHistory fills the database of a member with versions of one object. The member removes them without help, and
// stores objects again.
func TestDatabaseFullOfHistory(t *testing.T) {
	t.Parallel()
	d := openSmall(t, filepath.Join(t.TempDir(), "etcd"))
	defer d.close()
	d.fill(t, func(n int) error {
		update := storage.SimpleUpdate(func(runtime.Object) (runtime.Object, error) {
			meta := metav1.ObjectMeta{Name: "one", Labels: map[string]string{"n": fmt.Sprint(n)}}
			return &corev1.ConfigMap{ObjectMeta: meta, Data: half}, nil
		})
		return d.store.GuaranteedUpdate(t.Context(), "/configmaps/one", &corev1.ConfigMap{}, true, nil, update, nil)
	})
	hasRoom := func() bool { return d.client.Members(t.Context())[0].SizeBytes <= 4<<20 }
	waittest.Until(t, "the alarm, unless it is cleared already", func() bool { return d.hasAlarm(t.Context())() || hasRoom() })
	waittest.Until(t, "the member stores objects again", func() bool { return create(t.Context(), d.store, "small") == nil })
	if status := d.client.Members(t.Context())[0]; len(status.Alarms) > 0 || !hasRoom() {
		t.Errorf("alarms %v, %d bytes", status.Alarms, status.SizeBytes)
	}
}

// TestDatabaseFullOfObjects fills the database of a member with objects. The member keeps its alarm until enough of them are deleted,
// also if it is started again, and then stores objects.
func TestDatabaseFullOfObjects(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "etcd")
	d := openSmall(t, dir)
	d.StopMaintenance()
	// Free pages also fill the file. The member uses them again until objects fill it.
	created := 0
	for full := false; !full; full = d.hasAlarm(t.Context())() {
		created += d.fill(t, func(n int) error { return d.createLarge(t.Context(), created+n) })
		waittest.Until(t, "the alarm", d.hasAlarm(t.Context()))
		for range 3 {
			d.Reclaim(t.Context())
		}
	}
	if err := create(t.Context(), d.store, "small"); !saysFull(err) || !d.hasAlarm(t.Context())() {
		t.Fatalf("the database is full, and a write: %v", err)
	}

	d.close()
	d = openSmall(t, dir)
	defer d.close()
	d.StopMaintenance()
	for i := range created / 2 {
		d.deleteLarge(t, i)
	}
	if err := create(t.Context(), d.store, "small"); !saysFull(err) {
		t.Errorf("before the alarm is cleared: %v", err)
	}
	waittest.Until(t, "the member stores objects again", func() bool {
		d.Reclaim(t.Context())
		return create(t.Context(), d.store, "small") == nil
	})
	if d.hasAlarm(t.Context())() {
		t.Error("the alarm stays")
	}
}
