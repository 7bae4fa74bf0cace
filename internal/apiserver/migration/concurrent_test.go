package migration_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// touched is how many of the boats a writer changes.
const touched = 20

// writer writes boats until it is stopped, and remembers what the server has acknowledged.
type writer struct {
	*client
	prefix string
	// spec.count of each boat, by name.
	acknowledged map[string]int64
	// updates counts the acknowledged updates.
	updates int
}

// run increments spec.count of existing boats, and creates a boat now and then. It ends at the first error that is no conflict.
func (w *writer) run(ctx context.Context, names []string) {
	for i := 0; ctx.Err() == nil; i++ {
		if i%5 == 0 {
			created := fmt.Sprintf("%s%d", w.prefix, i)
			boat := yamltest.Object(w.TB, fmt.Sprintf("{apiVersion: %s/v1, kind: Boat, metadata: {name: %s}, spec: {count: 1}}", group, created))
			if _, err := w.boats().Create(ctx, boat, metav1.CreateOptions{}); err != nil {
				return
			}
			w.acknowledged[created] = 1
		}
		changed := names[i%len(names)]
		var count int64
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			boat, err := w.boats().Get(ctx, changed, metav1.GetOptions{})
			if err != nil {
				return err
			}
			count, _, _ = unstructured.NestedInt64(boat.Object, "spec", "count")
			count++
			if err := unstructured.SetNestedField(boat.Object, count, "spec", "count"); err != nil {
				return err
			}
			_, err = w.boats().Update(ctx, boat, metav1.UpdateOptions{})
			return err
		})
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return
		}
		w.acknowledged[changed] = count
		w.updates++
	}
}

// writing starts writers with different boats, one for each client. stop ends them and returns what they wrote.
func writing(t *testing.T, clients ...*client) (stop func() map[string]int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var writers []*writer
	for i, c := range clients {
		w := &writer{client: c, prefix: fmt.Sprintf("w%d-%d-", i, rand.Uint32()), acknowledged: map[string]int64{}}
		writers = append(writers, w)
		names := make([]string, touched)
		for j := range names {
			names[j] = fmt.Sprintf("b%d", i+j*len(clients))
		}
		running.Go(func() { w.run(ctx, names) })
	}
	return func() map[string]int64 {
		cancel()
		running.Wait()
		all := map[string]int64{}
		for _, w := range writers {
			maps.Copy(all, w.acknowledged)
			t.Logf("%d updates by %s", w.updates, w.prefix)
		}
		return all
	}
}

// holds checks that the boats have at least the acknowledged counts. Writes that were not acknowledged before a kill may be stored too.
func (c *client) holds(acknowledged map[string]int64, atLeast int) {
	c.Helper()
	list, err := c.boats().List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	found := map[string]int64{}
	for _, boat := range list.Items {
		found[boat.GetName()], _, _ = unstructured.NestedInt64(boat.Object, "spec", "count")
	}
	if len(found) < atLeast {
		c.Errorf("%d boats are left of %d", len(found), atLeast)
	}
	for boat, count := range acknowledged {
		if got, ok := found[boat]; !ok || got < count {
			c.Errorf("%s has the count %d (%t), the server acknowledged %d", boat, got, ok, count)
		}
	}
}

// TestReplicas migrates objects while clients of two servers write them. No write is lost, and no object is stored in the old version.
func TestReplicas(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	_, one := s.server(apiserver.Config{})
	_, two := s.server(apiserver.Config{})
	one.create(define(""), 600)
	stop := writing(t, one, two)
	one.storeIn("v2")
	migration := two.migrate(name)
	two.succeeded(migration)
	counted, versions := s.versions()
	acknowledged := stop()
	if counted["v1"] > 0 || !slices.Equal(versions, []string{"v2"}) {
		t.Errorf("%v, storedVersions %v", counted, versions)
	}
	if counted, _ := s.versions(); counted["v1"] > 0 {
		t.Errorf("after the last write: %v", counted)
	}
	one.holds(acknowledged, 600)
}

// slowRate is how many objects a server migrates in a second if a test does something in the middle of a migration of 1,500.
const slowRate = 100

// TestStorageVersionChanges changes the storage version back while objects are migrated. The migration then begins again.
func TestStorageVersionChanges(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	_, c := s.server(apiserver.Config{MigrationRate: slowRate})
	c.create(define(""), 1500)
	c.storeIn("v2")
	migration := c.migrate(name)
	s.begun("v2")
	c.storeIn("v1")
	if counted, _ := s.versions(); counted["v1"] == 0 {
		t.Fatal("the migration was too fast for this test")
	}
	c.succeeded(migration)
	s.check(map[string]int{"v1": 1500}, "v1")
}

// TestRestart stops the server in the middle of a migration. The next server goes on, from the same start. A boat that was created in
// between is there.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	server, c := s.server(apiserver.Config{MigrationRate: slowRate})
	c.create(define(""), 1500)
	c.storeIn("v2")
	migration := c.migrate(name)
	s.begun("v2")
	between := yamltest.Object(t, fmt.Sprintf("{apiVersion: %s/v1, kind: Boat, metadata: {name: between}}", group))
	if _, err := c.boats().Create(t.Context(), between, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	done, versions := s.versions()
	if done["v1"] == 0 || done["v2"] == 0 || len(versions) != 2 {
		t.Fatalf("the server was not stopped in the middle: %v, storedVersions %v", done, versions)
	}
	_, c = s.server(apiserver.Config{})
	end := c.succeeded(migration)
	if want := fmt.Sprintf("objects read: 1501, written: %d", done["v1"]); end.Message != want {
		t.Errorf("message %q, want %q", end.Message, want)
	}
	s.check(map[string]int{"v2": 1501}, "v2")
}

// TestDeletionsAreFenced deletes objects with finalizers while the storage version changes, through another server. The deletion stores
// the object, and it does so in the version that is the storage version at that moment.
func TestDeletionsAreFenced(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	_, one := s.server(apiserver.Config{})
	_, two := s.server(apiserver.Config{})
	const count = 20
	one.create(define(""), 0)
	waittest.Until(t, "the second server has the definition", func() error {
		_, err := two.boats().List(t.Context(), metav1.ListOptions{})
		return err
	})
	for i := range count {
		boat := yamltest.Object(t, fmt.Sprintf("{apiVersion: %s/v1, kind: Boat, metadata: {name: b%d, finalizers: [example.com/keep]}}", group, i))
		if _, err := two.boats().Create(t.Context(), boat, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	versions, revisions := [count]string{}, [count]string{}
	for i := range count {
		versions[i] = []string{"v2", "v1"}[i%2]
		var changing sync.WaitGroup
		changing.Go(func() {
			var err error
			if revisions[i], err = one.tryStoreIn(versions[i]); err != nil {
				t.Error(err)
			}
		})
		err := two.boats().Delete(t.Context(), fmt.Sprintf("b%d", i), metav1.DeleteOptions{})
		changing.Wait()
		if err != nil && !apierrors.IsServiceUnavailable(err) {
			t.Fatal(err)
		}
	}
	found, _ := s.read(group+"/boats/default/", 0)
	for i := range count {
		boat := found[fmt.Sprintf("b%d", i)]
		if boat.revision > int64(number(t, revisions[i])) && boat.decode(t).APIVersion != group+"/"+versions[i] {
			t.Errorf("b%d was stored in %s when the storage version was %s", i, boat.decode(t).APIVersion, versions[i])
		}
	}
}
