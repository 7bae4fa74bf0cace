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
	"holdfast.dev/holdfast/internal/fieldhistory"
	"holdfast.dev/holdfast/value"
)

// write is one write of an object. The storage may try it several times, and each try sets the operation and the contents again.
type write struct {
	*store
	user      string
	origin    origin
	operation fieldhistory.Operation
	// was is the object before the write, and is the object after it. They have a content if the write is recorded.
	was   former
	is    writtenObject
	after *content
}

func newWrite(ctx context.Context, s *store) *write {
	w := &write{store: s, origin: originOf(ctx)}
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		w.user = user.GetName()
	}
	return w
}

// failure is the error of a write that cannot be recorded. It is not stored either.
func failure(at place, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("record the history of %s %s: %w", at.resource, at.name, err))
}

// prepare is called with the changed object, before it is written.
func (w *write) prepare(ctx context.Context, key string, was former, updated runtime.Object) (err error) {
	w.operation, w.was, w.is, w.after = "", was, w.identify(updated), nil
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
	if !w.is.on && w.operation != fieldhistory.Update {
		return nil
	}
	if w.after, err = w.content(ctx, w.is, updated); err != nil || w.operation != fieldhistory.Update {
		return err
	}
	if was.content == nil {
		if w.was.content, err = w.reread(ctx, key, was.writtenObject); err != nil || w.was.content == nil {
			w.operation, w.after = "", nil
			return err
		}
	}
	if value.Strict.Equal(w.was.content.values, w.after.values) {
		w.operation, w.after = "", nil
	}
	return nil
}

// reread returns the content of the object before the write that sets the label. It returns nil if the object has changed since: then
// etcd refuses this try.
func (w *write) reread(ctx context.Context, key string, was writtenObject) (*content, error) {
	stored := w.newFunc()
	if err := w.Interface.Get(ctx, key, apistorage.GetOptions{}, stored); err != nil {
		return nil, failure(was.place, err)
	}
	if now := w.identify(stored); now.version != was.version {
		return nil, nil
	}
	return w.content(ctx, was, stored)
}

// plan returns what etcd writes beside the object. It implements etcd.Plan.
func (w *write) plan(ctx context.Context, again bool) (*etcd.Beside, error) {
	if w.operation == "" {
		return nil, nil
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
