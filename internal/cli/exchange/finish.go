package exchange

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/replacement/journal"
)

// ErrChanged is the error if the old object was changed before it was deleted. It stays as it is, and there is no journal.
var ErrChanged = errors.New("the object was changed after the plan, and it is not replaced")

// Replace replaces an object. Check should have found nothing against it.
func (e *Exchanger) Replace(ctx context.Context, target Target) (Result, error) {
	user, err := e.User(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("%s/%s: %w", target.Old.GetKind(), target.Old.GetName(), err)
	}
	entry := e.entry(target, user)
	if err := e.begin(ctx, entry); err != nil {
		if errors.As(err, &Open{}) {
			return Result{}, err
		}
		return Result{}, fmt.Errorf("%s: %w", entry.Object(), err)
	}
	return e.Finish(ctx, entry, true)
}

// ErrNotBegun is the error if nothing of a replacement was done, and it cannot be done any more. There is no journal.
var ErrNotBegun = errors.New("nothing of the replacement was done, and it is given up")

// Resume finishes what an earlier run has left. If that run has not deleted the old object, Resume first checks the replacement again. restores
// says that Resume may create the old object again, as the journal has it: see Continues.
func (e *Exchanger) Resume(ctx context.Context, entry *journal.Entry, restores bool) (Result, error) {
	stored, err := e.stored(ctx, entry)
	if err == nil && entry.Judge(stored) == journal.Unchanged {
		err = e.Check(ctx, Target{Resource: entry.Resource, Old: stored, New: entry.New})
		if err != nil {
			return Result{}, errors.Join(fmt.Errorf("%w: %w", ErrNotBegun, err), e.end(ctx, entry.Stored))
		}
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", entry.Object(), err)
	}
	return e.Finish(ctx, entry, restores)
}

// Finish finishes the replacement of a journal, wherever it is, and removes the journal. restores is as in Resume. If it returns an error, the
// error says whether the journal is still there.
func (e *Exchanger) Finish(ctx context.Context, entry *journal.Entry, restores bool) (Result, error) {
	r := &run{Exchanger: e, entry: entry, restores: restores}
	err := r.finish(ctx)
	if err != nil {
		err = fmt.Errorf("%s: %w", entry.Object(), err)
	}
	return r.result, err
}

// run is one attempt to finish a replacement.
type run struct {
	*Exchanger
	entry  *journal.Entry
	result Result
	// restores says that the run may create the old object of the journal.
	restores bool
	// state is what the run has seen last, and deadline when it gives up to wait for another one.
	state    journal.State
	deadline time.Time
	// seen is the last moment at which the old object was stored, zero if this run has not seen it.
	seen time.Time
	// made is the UID of the object that this run has created.
	made types.UID
	// reread says that the run has read the journal again, because it did not know the stored object.
	reread bool
}

// finish looks at the stored object and takes the next step, until there is none.
func (r *run) finish(ctx context.Context) error {
	for wait := pause(0); ; {
		began := time.Now()
		stored, err := r.stored(ctx, r.entry)
		next := retry
		if err != nil {
			err = r.again(err)
		} else {
			r.enter(r.judge(stored), began)
			switch r.state {
			case journal.Unchanged:
				next, err = r.remove(ctx)
			case journal.Changed:
				return errors.Join(ErrChanged, r.end(ctx, r.entry.Stored))
			case journal.Deleting:
				err = r.awaitFinalizers(stored)
			case journal.Absent, journal.Refused:
				next, err = r.create(ctx)
			case journal.Created, journal.Restored:
				return r.done(ctx, stored)
			case journal.Foreign:
				next, err = r.lookAgain(ctx, stored)
			}
		}
		if err != nil {
			return err
		}
		if next == retry {
			if err := wait.sleep(ctx); err != nil {
				return r.unfinished(err)
			}
		}
	}
}

// enter notes the state of an object that was read after the time began.
func (r *run) enter(state journal.State, began time.Time) {
	if state != r.state {
		r.state, r.deadline = state, time.Now().Add(r.patience())
	}
	switch state {
	case journal.Unchanged, journal.Changed, journal.Deleting:
		r.seen = began
	}
}

// again returns nil if a request that failed should be sent again: the server may be starting, or overloaded.
func (r *run) again(err error) error {
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(r.patience())
	}
	if isRefusal(err) || apierrors.IsUnauthorized(err) || !time.Now().Before(r.deadline) {
		return r.unfinished(err)
	}
	return nil
}

// step is what follows a request.
type step int

const (
	// retry waits a moment before the next look.
	retry step = iota
	// advance looks at once.
	advance
)

// judge returns how far the replacement is.
func (r *run) judge(stored *unstructured.Unstructured) journal.State {
	if stored == nil || r.made == "" || stored.GetUID() != r.made {
		return r.entry.Judge(stored)
	}
	// A webhook may have changed the object so that the journal does not recognize it.
	if r.entry.Refusal != "" {
		return journal.Restored
	}
	return journal.Created
}

// remove deletes the old object, if it is still the one of the journal.
func (r *run) remove(ctx context.Context) (step, error) {
	if r.entry.Refusal != "" {
		// The server said that there was no such object, and was wrong.
		return retry, errors.Join(ErrNotBegun, r.end(ctx, r.entry.Stored))
	}
	r.seen = time.Now()
	err := r.client(r.entry.Resource, r.entry.New.GetNamespace()).Delete(ctx, r.entry.New.GetName(), deletion(r.entry))
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return advance, nil
	case isRefusal(err):
		return retry, errors.Join(fmt.Errorf("the server refuses to delete the old object, and nothing was changed: %w", err), r.end(ctx, r.entry.Stored))
	}
	// After a conflict, it was changed, or another run has deleted it.
	return retry, r.again(err)
}

// awaitFinalizers returns an error if the old object still has finalizers after a time.
func (r *run) awaitFinalizers(stored *unstructured.Unstructured) error {
	if time.Now().Before(r.deadline) {
		return nil
	}
	return r.unfinished(fmt.Errorf("the old object is being deleted, and has the finalizers %s, which a controller has to remove",
		strings.Join(stored.GetFinalizers(), ", ")))
}

// lookAgain reads the journal again if the stored object is neither the old nor the new one: another run may have restored the old one.
func (r *run) lookAgain(ctx context.Context, stored *unstructured.Unstructured) (step, error) {
	if !r.reread {
		entry, err := r.Find(ctx, r.entry.Resource.GroupResource(), r.entry.New.GetNamespace(), r.entry.New.GetName())
		if err != nil {
			return retry, r.again(err)
		}
		r.reread = true
		isSame := entry != nil && entry.Stored.UID == r.entry.Stored.UID
		if isSame && (r.restores || apiequality.Semantic.DeepEqual(entry.New.Object, r.entry.New.Object)) {
			r.entry = entry
			return advance, nil
		}
	}
	key := r.entry.Stored
	return retry, fmt.Errorf("after the old object was deleted, another client created one of this name, with the UID %s, at %s: it stays as it is. "+
		"The journal has the old and the new object: kubectl get secret %s -n %s -o jsonpath='{.data.old}' | base64 -d prints the old one. "+
		"Delete this Secret when you do not need it any more, and apply again",
		stored.GetUID(), stored.GetCreationTimestamp().UTC().Format(time.RFC3339), key.Name, key.Namespace)
}

// done removes the journal, after the object that must be there has been read.
func (r *run) done(ctx context.Context, stored *unstructured.Unstructured) error {
	r.result.UID = stored.GetUID()
	if r.result.Absent == 0 {
		// Another run deleted or created the object. The server wrote both times, in whole seconds: the journal is older than the deletion.
		r.result.Absent = stored.GetCreationTimestamp().Sub(r.entry.Begun) + time.Second
	}
	if err := r.end(ctx, r.entry.Stored); err != nil {
		return fmt.Errorf("%s, but not everything is done: %w; run the same command again", r.state, err)
	}
	if r.state == journal.Restored {
		return fmt.Errorf("the server refused the new object after the old one was deleted: %s. The old object was created again, with the UID %s; "+
			"its status and the objects that it owned are not restored. It was absent for at most %s", r.entry.Refusal, r.result.UID, Seconds(r.result.Absent))
	}
	return nil
}

// unfinished adds to an error how the replacement goes on.
func (r *run) unfinished(err error) error {
	return fmt.Errorf("%w. The replacement is not finished, and its journal is the Secret %s/%s: run the same command again",
		err, r.entry.Stored.Namespace, r.entry.Stored.Name)
}

// pause is a wait that becomes longer each time.
type pause time.Duration

const shortest, longest = 20 * time.Millisecond, 200 * time.Millisecond

func (p *pause) sleep(ctx context.Context) error {
	*p = pause(min(max(2*time.Duration(*p), shortest), longest))
	timer := time.NewTimer(time.Duration(*p))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
