package migration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/lifecycle"
)

const (
	// An object that cannot be written is tried again after firstRetry, then after twice as long each time, up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// errReplaced says that the definition has changed, so that the objects may have to be stored in another form.
var errReplaced = errors.New("the definition has changed")

// pass writes all objects of a target that are not stored in its form. It holds one page of objects and those that are being written.
func (m *Migrator) pass(ctx context.Context, t target, since int64, count func(read, written int)) error {
	writing, ctx := errgroup.WithContext(ctx)
	writing.SetLimit(writers)
	var read, written atomic.Int64
	_, err := m.Objects.Scan(ctx, t.resource, 0, func(stored storage.Stored) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if count(int(read.Add(1)), int(written.Load())); t.isDone(stored, since) {
			return nil
		}
		writing.Go(func() error {
			done, err := m.persist(ctx, t, stored)
			if done {
				written.Add(1)
			}
			return err
		})
		return nil
	})
	// The error of a write ends the scan.
	if failed := writing.Wait(); failed != nil {
		return failed
	}
	count(int(read.Load()), int(written.Load()))
	return err
}

// persist writes an object, and tries again for a while if it cannot. It reports whether it wrote the object.
func (m *Migrator) persist(ctx context.Context, t target, stored storage.Stored) (bool, error) {
	deadline := time.Now().Add(m.Patience)
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		written, err := m.write(ctx, t, stored)
		if err == nil || errors.Is(err, errReplaced) {
			return written, err
		}
		if time.Now().After(deadline) {
			if isOutage(err) {
				return false, err
			}
			return false, &lifecycle.MigrationError{Message: fmt.Sprintf("%s %s cannot be written: %v", t.resource, stored.FullName(), err)}
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(delay):
		}
		current, err := m.Objects.Reread(ctx, t.resource, stored)
		switch {
		case err == nil && current == nil:
			return false, nil // a client has deleted it
		case err == nil:
			stored = *current
		}
	}
}

// write writes an object once, again if another client writes it at the same time. It reports whether it wrote the object.
func (m *Migrator) write(ctx context.Context, t target, stored storage.Stored) (bool, error) {
	for {
		text, err := t.encode(stored.Text)
		if err != nil {
			return false, err
		}
		if !stored.Stale && bytes.Equal(text, stored.Text) {
			return false, nil
		}
		if err := m.limiter.Wait(ctx); err != nil {
			return false, err
		}
		fenced, err := t.begin(ctx)
		if err != nil {
			return false, err
		}
		if err := failpoint.Fail("migration:rewrite"); err != nil {
			return false, err
		}
		written, err := m.Objects.Rewrite(fenced, t.resource, stored, text)
		if err == nil && written {
			return true, failpoint.Fail("migration:rewritten")
		}
		if err != nil {
			changed, replaced := t.awaitChange(ctx, err)
			switch {
			case replaced:
				return false, errReplaced
			case !changed:
				return false, err
			}
		}
		current, err := m.Objects.Reread(ctx, t.resource, stored)
		if err != nil || current == nil {
			return false, err
		}
		stored = *current
	}
}
