package answer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/apiserver/deflate"
	"holdfast.dev/holdfast/internal/apiserver/storage"
)

// Origin reads stored objects for an audit.
type Origin interface {
	// At returns an object that was written at a revision, nil if that revision wrote no such object. The error is storage.ErrUnreadable
	// if etcd does not have the revision any more.
	At(ctx context.Context, resource schema.GroupResource, namespace, name string, revision int64) (*storage.Stored, error)
}

// Audited returns the cached texts for an audit, none in the plain form.
func (s *Shared) Audited(origin Origin) []cacheaudit.Cache {
	if q, ok := s.form.(*quick); ok {
		return []cacheaudit.Cache{textAudit{q, origin}}
	}
	return nil
}

// textAudit compares each text with that of the object in etcd, decoded and encoded by the library.
type textAudit struct {
	quick  *quick
	origin Origin
}

var _ cacheaudit.Cache = textAudit{}

// Name implements cacheaudit.Cache.
func (a textAudit) Name() string { return a.quick.texts.Name() }

// Compare implements cacheaudit.Cache.
func (a textAudit) Compare(ctx context.Context, pass *cacheaudit.Pass) error {
	for key, kept := range a.quick.texts.Entries() {
		if err := a.compare(ctx, pass, key, kept); err != nil {
			return err
		}
		if err := pass.Rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (a textAudit) compare(ctx context.Context, pass *cacheaudit.Pass, key textKey, kept cachedText) error {
	var named struct{ Metadata metav1.ObjectMeta }
	err := json.Unmarshal(kept.json, &named)
	m := named.Metadata
	revision, wrong := strconv.ParseInt(m.ResourceVersion, 10, 64)
	if err != nil || wrong != nil || m.UID != key.uid || m.ResourceVersion != kept.resourceVersion {
		pass.Differ(key.version.KeyOf("", "with the UID "+string(key.uid)))
		return nil //nolint:nilerr // a text that is no object is a difference
	}
	name := key.version.KeyOf(m.Namespace, m.Name)
	stored, err := a.origin.At(ctx, key.version.Kind.GroupResource(), m.Namespace, m.Name, revision)
	switch {
	case errors.Is(err, storage.ErrUnreadable):
		pass.Skip()
		return nil
	case err != nil:
		return err
	case stored == nil:
		pass.Differ(name)
		return nil
	}
	obj, err := key.version.Anew(stored.Text, revision)
	if err != nil {
		pass.Skip()
		return nil //nolint:nilerr // such as an object that a webhook converts
	}
	pass.Judge(isTextOf(kept, obj, key.metadata), name)
	return nil
}

// isTextOf reports whether all forms of a kept text are those of an object.
func isTextOf(kept cachedText, obj *object.Object, metadata string) bool {
	var want []byte
	var err error
	if metadata == "" {
		want, err = text.Library{}.Append(nil, obj.Object)
	} else {
		form := partial{version: schema.GroupVersion{Group: metav1.GroupName, Version: metadata}}
		want, err = form.appendMetadata(nil, obj)
	}
	if err != nil || !bytes.Equal(kept.json, want) {
		return false
	}
	if kept.event != nil {
		event := append([]byte(eventHead(string(watch.Modified))), want...)
		if !bytes.Equal(kept.event, append(event, eventTail...)) {
			return false
		}
	}
	return kept.packed.Len() == 0 || isPacked(kept.packed, want)
}

func isPacked(piece deflate.Piece, want []byte) bool {
	reader, err := gzip.NewReader(bytes.NewReader(deflate.Join([]deflate.Piece{piece})))
	if err != nil {
		return false
	}
	got, err := io.ReadAll(io.LimitReader(reader, int64(len(want))+1))
	return err == nil && bytes.Equal(got, want)
}

// Drop implements cacheaudit.Cache.
func (a textAudit) Drop() { a.quick.texts.Clear() }
