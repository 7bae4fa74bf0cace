package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/client-go/util/flowcontrol"

	"holdfast.dev/holdfast/internal/apiserver/custom"
	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/native"
)

const (
	// objectsPerSecond is how many objects a server writes in a second at most, for all migrations together. Clients keep most of the
	// throughput of etcd, and a watch of 5,000 events is never more than ten seconds behind.
	objectsPerSecond = 500
	// writers is how many objects of one migration are converted and written at the same time.
	writers = 8
	// refusals is how often a migration begins again because the definition was refused with shorter stored versions. Mostly the gate has found
	// an object in another version: a server of an earlier release, which does not compare the revision of the definition, can store one.
	refusals = 3
)

// DefaultPatience is how long an object may fail to be written before the migration fails.
const DefaultPatience = 20 * time.Second

// Config configures a Migrator.
type Config struct {
	Objects storage.Readable
	// Stores are the stores of the built-in kinds and of the definitions.
	Stores map[schema.GroupResource]*genericregistry.Store
	Custom *custom.Server
	// IsRemote reports whether another server has the objects of a version.
	IsRemote func(schema.GroupVersion) bool
	// Shorten removes all versions but one from the stored versions of a definition, see definitions.Status.
	Shorten func(ctx context.Context, name, version string) error
	// History has the history of the objects, which is encrypted with their keys. It may be nil.
	History History
	// Patience is how long an object may fail to be written before the migration fails. Zero means DefaultPatience.
	Patience time.Duration
	// Rate is how many objects are written in a second at most. Zero means 500.
	Rate float32
}

// History is the history of the objects of all resources.
type History interface {
	// Reencrypt encrypts the history of the objects of a resource with the current key.
	Reencrypt(ctx context.Context, resource schema.GroupResource) error
}

// Migrator writes stored objects again.
type Migrator struct {
	Config
	limiter flowcontrol.RateLimiter
}

var _ lifecycle.Migrator = &Migrator{}

// New returns a migrator.
func New(config Config) *Migrator {
	if config.Patience == 0 {
		config.Patience = DefaultPatience
	}
	if config.Rate == 0 {
		config.Rate = objectsPerSecond
	}
	return &Migrator{Config: config, limiter: flowcontrol.NewTokenBucketRateLimiter(config.Rate, writers)}
}

// Begin implements lifecycle.Migrator.
func (m *Migrator) Begin(ctx context.Context, resource schema.GroupResource) (int64, error) {
	t, err := m.target(ctx, resource)
	if err != nil {
		return 0, err
	}
	t.release()
	return m.Objects.Revision(ctx)
}

// Run implements lifecycle.Migrator. It begins again if the definition changes meanwhile, and for a while if something cannot be read.
func (m *Migrator) Run(ctx context.Context, resource schema.GroupResource, since int64, count func(read, written int)) error {
	refused := 0
	var failing time.Time // since when something cannot be read
	for {
		err := m.run(ctx, resource, since, count)
		var failed *lifecycle.MigrationError
		delay := lastRetry
		switch {
		case err == nil || ctx.Err() != nil || errors.As(err, &failed) || isOutage(err):
			return err
		case errors.Is(err, errReplaced) || errors.Is(err, definitions.ErrStorageVersion):
			// This server may see the change a moment later.
			failing, delay = time.Time{}, firstRetry
		case apierrors.IsInvalid(err):
			if refused++; refused == refusals {
				return &lifecycle.MigrationError{Message: fmt.Sprintf("the objects of %s are written, and the stored versions of the definition cannot be "+
					"shortened (if objects are stored in another version again, a server of an earlier release may still run): %v", resource, err)}
			}
		case failing.IsZero():
			failing = time.Now()
		case time.Since(failing) > m.Patience:
			return &lifecycle.MigrationError{Message: err.Error()}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(delay):
		}
	}
}

// isOutage reports whether an error is about etcd, and not about an object.
func isOutage(err error) bool {
	return etcd.IsOutage(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsServiceUnavailable(err)
}

// run writes the objects by one state of the definition. Then no object is stored in another version than the storage version, and run
// removes the other versions from the definition.
func (m *Migrator) run(ctx context.Context, resource schema.GroupResource, since int64, count func(read, written int)) error {
	t, err := m.target(ctx, resource)
	if err != nil {
		return err
	}
	defer t.release()
	if err := m.pass(ctx, t, since, count); err != nil {
		return err
	}
	if m.History != nil {
		if err := m.History.Reencrypt(ctx, t.resource); err != nil {
			return err
		}
	}
	if t.rewriter == nil {
		return nil
	}
	if err := failpoint.Fail("migration:shorten"); err != nil {
		return err
	}
	return m.Shorten(ctx, t.rewriter.Definition(), t.rewriter.StorageVersion().Version)
}

// target returns how the objects of a resource are stored. The caller releases it.
func (m *Migrator) target(ctx context.Context, resource schema.GroupResource) (target, error) {
	if stored, ok := builtIn(resource); ok {
		return target{resource: stored, store: m.Stores[stored]}, nil
	}
	rewriter, err := m.Custom.Rewriter(ctx, resource)
	if err != nil {
		return target{}, err
	}
	if rewriter == nil {
		return target{}, &lifecycle.MigrationError{Message: fmt.Sprintf(
			"resource does not exist in discovery: %s is no built-in kind, and has no established definition", resource), Unknown: true}
	}
	t := target{resource: resource, rewriter: rewriter}
	if m.IsRemote(rewriter.StorageVersion()) {
		t.release()
		return target{}, &lifecycle.MigrationError{Message: fmt.Sprintf("another API server stores the objects of %s", resource)}
	}
	return t, nil
}

// builtIn returns the name under which the objects of a built-in kind are stored.
func builtIn(resource schema.GroupResource) (schema.GroupResource, bool) {
	if resource == definitions.Resource {
		return resource, true
	}
	for _, kind := range native.Kinds() {
		isOther := slices.ContainsFunc(kind.OtherVersions, func(gv schema.GroupVersion) bool { return gv.Group == resource.Group })
		if kind.Resource == resource.Resource && (kind.GroupVersion.Group == resource.Group || isOther) {
			return kind.GroupResource(), true
		}
	}
	return schema.GroupResource{}, false
}
