package recording

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	apistorage "k8s.io/apiserver/pkg/storage"

	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/failpoint"
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/value"
)

// write is one write of an object. The storage may try it several times, and each try sets the operation and the contents again.
type write struct {
	*store
	user      string
	origin    origin
	operation fieldhistory.Operation
	was       former
	is        writtenObject
	// before and after are the contents before and after the write. Those of an update have at least the fields that differ. before is nil
	// if the object is new, and after if the server does not record the new object.
	before, after *content
}

func newWrite(ctx context.Context, s *store) *write {
	w := &write{store: s, origin: originOf(ctx)}
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		w.user = value.CutBytes(user.GetName(), maxUser)
	}
	return w
}

// maxUser and maxManager are the largest numbers of bytes of the names in an entry. A longer name is cut. An authenticator may give a user a
// name of any length, and the server does not check the field manager of a deletion.
const maxUser, maxManager = 256, 128

// failure is the error of a write that cannot be recorded. It is not stored either.
func failure(at place, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("record the history of %s %s: %w", at.resource, at.name, err))
}

// prepare is called with the changed object, before it is written.
func (w *write) prepare(ctx context.Context, key string, was former, updated runtime.Object) (err error) {
	w.operation, w.was, w.is, w.before, w.after = "", was, w.identify(updated), nil, nil
	switch {
	case w.is.uid == "":
		return nil
	case was.uid == "":
		w.operation = fieldhistory.Create
	case was.uid != w.is.uid:
		// The record of an object has its UID, so that of the new object begins here, and that of the old one ends.
		w.operation = fieldhistory.Replace
	case was.on || w.is.on:
		w.operation = fieldhistory.Update
	}
	switch {
	case w.operation == fieldhistory.Update:
		return w.compare(ctx, key, updated)
	case w.is.on:
		w.after, err = w.content(ctx, w.is, updated)
	}
	return err
}

// compare sets the contents before and after an update. If they are equal, there is nothing to record.
func (w *write) compare(ctx context.Context, key string, updated runtime.Object) (err error) {
	if w.was.kept == nil {
		if w.was.kept, err = w.reread(ctx, key); err != nil || w.was.kept == nil {
			w.operation = ""
			return err
		}
	}
	before, after, err := w.was.kept.changed(updated)
	if err != nil {
		return failure(w.is.place, err)
	}
	if value.Strict.Equal(before.values, after.values) {
		w.operation = ""
		return nil
	}
	if w.before, err = w.seal(ctx, w.is.uid, before); err == nil {
		w.after, err = w.seal(ctx, w.is.uid, after)
	}
	if err != nil {
		return failure(w.is.place, err)
	}
	return nil
}

// reread returns the object before the write that sets the label. It returns nil if the object has changed since: then etcd refuses this
// try.
func (w *write) reread(ctx context.Context, key string) (kept, error) {
	stored := w.newFunc()
	if err := w.Interface.Get(ctx, key, apistorage.GetOptions{}, stored); err != nil {
		return nil, failure(w.was.place, err)
	}
	if now := w.identify(stored); now.version != w.was.version {
		return nil, nil
	}
	before, err := w.contents.keep(stored)
	if err != nil {
		return nil, failure(w.was.place, err)
	}
	return before, nil
}

// formerContent returns the whole content before the write.
func (w *write) formerContent(ctx context.Context) (*content, error) {
	c, err := w.was.kept.content()
	if err != nil {
		return nil, err
	}
	return w.seal(ctx, w.was.uid, c)
}

// plan returns what etcd writes beside the object. It implements etcd.Plan.
func (w *write) plan(ctx context.Context, again bool) (*etcd.Beside, error) {
	if w.operation == "" {
		return w.unchanged(), nil
	}
	if err := failpoint.Fail("recording:plan"); err != nil {
		return nil, failure(w.was.place, err)
	}
	p := &planned{write: w, again: again, states: map[types.UID]state{}}
	var err error
	switch w.operation {
	case fieldhistory.Create:
		err = p.begin(ctx)
	case fieldhistory.Update:
		err = p.update(ctx)
	case fieldhistory.Replace:
		if err = p.end(ctx); err == nil {
			err = p.begin(ctx)
		}
	case fieldhistory.Delete:
		err = p.end(ctx)
	}
	if err != nil {
		return nil, failure(w.was.place, err)
	}
	if len(p.beside.Puts)+len(p.beside.Deletes) == 0 {
		return nil, nil
	}
	p.beside.Written = p.written
	return &p.beside, nil
}

// unchanged notes a write that has no entry, such as one of the status, if this server knows that the newest entry has the content of the
// object. It returns nil if the server does not know it.
func (w *write) unchanged() *etcd.Beside {
	if !w.was.on || !w.is.on || w.was.uid != w.is.uid {
		return nil
	}
	if known, ok := w.recorder.states.get(w.was.uid); !ok || !known.isOf(w.was.writtenObject) {
		return nil
	}
	return &etcd.Beside{Written: func(revision int64) {
		// Another write of the object may be noted by now.
		if known, ok := w.recorder.states.get(w.was.uid); ok && known.isOf(w.was.writtenObject) {
			if known.seen = revision; known.by != w.number {
				known.by = 0
			}
			w.recorder.states.Add(w.was.uid, known)
		}
	}}
}
