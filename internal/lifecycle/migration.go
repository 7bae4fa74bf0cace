package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	storagemigrationclient "k8s.io/client-go/kubernetes/typed/storagemigration/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/failpoint"
)

const (
	// progressInterval is how often a migration that runs says how far it is.
	progressInterval = 2 * time.Second
	// unknownFor is how long a migration waits for a resource that does not exist. A client may create the definition at the same time.
	unknownFor = 5 * time.Second
	// maxMessage is how long the message of a condition is at most, as in Kubernetes.
	maxMessage = 32 << 10
)

// Migrator writes stored objects again. It is safe for concurrent use.
type Migrator interface {
	// Begin returns the revision of the store. The error is a *MigrationError if the resource cannot be migrated.
	Begin(ctx context.Context, resource schema.GroupResource) (revision int64, err error)
	// Run writes all objects of a resource again that are not stored as the server stores them now. Objects that were written after
	// the revision are so. It then removes the other versions from the stored versions of the definition. count is told how many objects
	// were read and written so far. After a *MigrationError, the migration has failed. After another error, Run can be called again.
	Run(ctx context.Context, resource schema.GroupResource, since int64, count func(read, written int)) error
}

// MigrationError is the reason for which a migration has failed.
type MigrationError struct {
	Message string
	// Unknown says that there is no such resource.
	Unknown bool
}

// Error implements error.
func (e *MigrationError) Error() string { return e.Message }

// migrations is the controller that carries out StorageVersionMigrations.
type migrations struct {
	migrator Migrator
	client   storagemigrationclient.StorageVersionMigrationInterface
	store    cache.Store
	// running has the resources of which a migration runs. The store may not show it yet.
	running sync.Map
}

func newMigrations(c *connection.Connection, migrator Migrator) *migrations {
	return &migrations{migrator: migrator, client: c.Typed.StoragemigrationV1().StorageVersionMigrations()}
}

func (*migrations) name() string { return "migrations" }

// watch enqueues all migrations of a resource when one of them changes: they run one after the other.
func (m *migrations) watch(factory informers.SharedInformerFactory, enqueue func(cache.ObjectName)) error {
	informer := factory.Storagemigration().V1().StorageVersionMigrations().Informer()
	m.store = informer.GetStore()
	changed := func(obj any) {
		if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = deleted.Obj
		}
		if migration, ok := obj.(*storagemigrationv1.StorageVersionMigration); ok {
			for _, other := range m.unfinished(migration.Spec.Resource) {
				enqueue(cache.MetaObjectToName(other))
			}
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
	})
	return err
}

// unfinished returns the migrations of a resource that have not ended.
func (m *migrations) unfinished(resource metav1.GroupResource) []*storagemigrationv1.StorageVersionMigration {
	var found []*storagemigrationv1.StorageVersionMigration
	for _, obj := range m.store.List() {
		if migration, ok := obj.(*storagemigrationv1.StorageVersionMigration); ok && migration.Spec.Resource == resource && !hasEnded(migration) {
			found = append(found, migration)
		}
	}
	return found
}

func hasEnded(m *storagemigrationv1.StorageVersionMigration) bool {
	return is(m, storagemigrationv1.MigrationSucceeded) || is(m, storagemigrationv1.MigrationFailed)
}

func is(m *storagemigrationv1.StorageVersionMigration, condition storagemigrationv1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(condition))
}

// reconcile carries out a migration, unless another one of the same resource comes first.
func (m *migrations) reconcile(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	obj, exists, err := m.store.GetByKey(name.String())
	migration, ok := obj.(*storagemigrationv1.StorageVersionMigration)
	if err != nil || !exists || !ok || hasEnded(migration) {
		return 0, err
	}
	for _, other := range m.unfinished(migration.Spec.Resource) {
		if comesBefore(other, migration) {
			return 0, nil
		}
	}
	if _, busy := m.running.LoadOrStore(migration.Spec.Resource, true); busy {
		return firstRetry, nil
	}
	defer m.running.Delete(migration.Spec.Resource)
	migration, err = m.start(ctx, migration)
	if err == nil && migration != nil {
		err = m.carryOut(ctx, migration)
	}
	var failed *MigrationError
	if !errors.As(err, &failed) {
		return 0, ignoreGone(err)
	}
	if age := time.Since(migration.CreationTimestamp.Time); failed.Unknown && age < unknownFor {
		return min(unknownFor-age, time.Second), nil
	}
	return 0, ignoreGone(m.end(ctx, migration, metav1.Condition{
		Type: string(storagemigrationv1.MigrationFailed), Reason: "StorageVersionMigrationFailed", Message: failed.Message,
	}))
}

// ignoreGone returns nil for the error of a migration that was deleted.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// comesBefore reports whether a migration of the same resource is carried out before another: it runs already, or it is older.
func comesBefore(a, b *storagemigrationv1.StorageVersionMigration) bool {
	if running := is(a, storagemigrationv1.MigrationRunning); running != is(b, storagemigrationv1.MigrationRunning) {
		return running
	}
	if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
		return order < 0
	}
	return strings.Compare(a.Name, b.Name) < 0
}

// start marks a migration as running, with the revision of its start, unless an earlier leader has done so. It returns the migration
// also with an error, and nil if the migration has ended, which the store may not show yet.
func (m *migrations) start(
	ctx context.Context, migration *storagemigrationv1.StorageVersionMigration,
) (*storagemigrationv1.StorageVersionMigration, error) {
	current, err := m.client.Get(ctx, migration.Name, metav1.GetOptions{})
	if err != nil {
		return migration, err
	}
	if current.UID != migration.UID || hasEnded(current) {
		return nil, nil
	}
	if is(current, storagemigrationv1.MigrationRunning) && current.Status.ResourceVersion != "" {
		return current, nil
	}
	revision, err := m.migrator.Begin(ctx, schema.GroupResource(migration.Spec.Resource))
	if err != nil {
		return migration, err
	}
	written, err := m.write(ctx, migration, func(status *storagemigrationv1.StorageVersionMigrationStatus) {
		setRunning(status, "The migration is running")
		if status.ResourceVersion == "" {
			status.ResourceVersion = strconv.FormatInt(revision, 10)
		}
	})
	if err != nil {
		return migration, err
	}
	return written, nil
}

// carryOut writes the objects of a migration that runs, and ends it.
func (m *migrations) carryOut(ctx context.Context, migration *storagemigrationv1.StorageVersionMigration) error {
	since, err := strconv.ParseInt(migration.Status.ResourceVersion, 10, 64)
	if err != nil {
		return &MigrationError{Message: fmt.Sprintf("status.resourceVersion: %v", err)}
	}
	var read, written atomic.Int64
	bounded, stop := m.follow(ctx, migration, &read, &written)
	err = m.migrator.Run(bounded, schema.GroupResource(migration.Spec.Resource), since, func(r, w int) {
		read.Store(int64(r))
		written.Store(int64(w))
	})
	stop()
	if err != nil {
		return err
	}
	klog.InfoS("stored objects are migrated", "migration", migration.Name, "resource", migration.Spec.Resource.String(),
		"read", read.Load(), "written", written.Load())
	if err := failpoint.Fail("lifecycle:migrated"); err != nil {
		return err
	}
	return m.end(ctx, migration, metav1.Condition{
		Type: string(storagemigrationv1.MigrationSucceeded), Reason: "StorageVersionMigrationSucceeded", Message: countText(&read, &written),
	})
}

func countText(read, written *atomic.Int64) string {
	return fmt.Sprintf("objects read: %d, written: %d", read.Load(), written.Load())
}

// follow says how far a migration is, until stop is called. The returned context ends when the migration is deleted.
func (m *migrations) follow(
	ctx context.Context, migration *storagemigrationv1.StorageVersionMigration, read, written *atomic.Int64,
) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			_, err := m.write(ctx, migration, func(status *storagemigrationv1.StorageVersionMigrationStatus) {
				setRunning(status, "The migration is running: "+countText(read, written))
			})
			if apierrors.IsNotFound(err) {
				cancel()
			}
		}
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

func setRunning(status *storagemigrationv1.StorageVersionMigrationStatus, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: string(storagemigrationv1.MigrationRunning), Status: metav1.ConditionTrue, Reason: "MigrationRunning", Message: message,
	})
}

// end ends a migration with one of the conditions Succeeded and Failed.
func (m *migrations) end(ctx context.Context, migration *storagemigrationv1.StorageVersionMigration, how metav1.Condition) error {
	how.Status = metav1.ConditionTrue
	// The API accepts messages of this length.
	if how.Message = strings.ToValidUTF8(how.Message, "?"); len(how.Message) > maxMessage {
		how.Message = strings.ToValidUTF8(how.Message[:maxMessage], "")
	}
	_, err := m.write(ctx, migration, func(status *storagemigrationv1.StorageVersionMigrationStatus) {
		meta.SetStatusCondition(&status.Conditions, how)
		if meta.FindStatusCondition(status.Conditions, string(storagemigrationv1.MigrationRunning)) != nil {
			meta.SetStatusCondition(&status.Conditions, metav1.Condition{
				Type: string(storagemigrationv1.MigrationRunning), Status: metav1.ConditionFalse,
				Reason: "MigrationCompleted", Message: "Migration completed",
			})
		}
	})
	return err
}

// write changes the status of a migration. The error is NotFound if the migration was deleted.
func (m *migrations) write(
	ctx context.Context, migration *storagemigrationv1.StorageVersionMigration, change func(*storagemigrationv1.StorageVersionMigrationStatus),
) (written *storagemigrationv1.StorageVersionMigration, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := m.client.Get(ctx, migration.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if current.UID != migration.UID {
			return apierrors.NewNotFound(storagemigrationv1.Resource("storageversionmigrations"), migration.Name)
		}
		if written = current; hasEnded(current) {
			return nil
		}
		change(&current.Status)
		written, err = m.client.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err
	})
	return written, err
}
