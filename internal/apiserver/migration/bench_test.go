package migration_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// BenchmarkMigration measures migrations of 2,000 custom resources between two versions without a webhook, without the limit of the rate. The
// server and its etcd run in the process, so the bytes are those of both.
func BenchmarkMigration(b *testing.B) {
	const count = 2000
	server := servertest.Start(b, apiserver.Config{MigrationRate: 1e9})
	c := newClient(b, server.Config(b))
	c.create(define(""), count)
	var took time.Duration
	var allocated uint64
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		c.storeIn([]string{"v2", "v1"}[i%2])
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.StartTimer()
		started := time.Now()
		c.migrateAndWatch(name)
		took += time.Since(started)
		runtime.ReadMemStats(&after)
		allocated += after.TotalAlloc - before.TotalAlloc
	}
	objects := float64(count * b.N)
	b.ReportMetric(objects/took.Seconds(), "objects/s")
	b.ReportMetric(float64(allocated)/objects, "B/object")
}

// migrateAndWatch waits for the end of a migration with a watch, which costs less than asking again and again.
func (c *client) migrateAndWatch(resource string) {
	c.Helper()
	migration := c.migrate(resource)
	events, err := c.typed.StoragemigrationV1().StorageVersionMigrations().Watch(c.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=" + migration, ResourceVersion: "0"})
	if err != nil {
		c.Fatal(err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		found, ok := event.Object.(*storagemigrationv1.StorageVersionMigration)
		if !ok {
			c.Fatal(fmt.Sprint(event.Object))
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == string(storagemigrationv1.MigrationSucceeded) {
				return
			}
		}
	}
	c.Fatal("the watch ended")
}
