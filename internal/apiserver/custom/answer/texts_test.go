package answer

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/deflate"
)

func TestTextsStayWithinTheirBound(t *testing.T) {
	t.Parallel()
	cache := newQuick(nil)
	first, second := &kind.Version{}, &kind.Version{}
	packed, err := deflate.NewPool(gzip.BestSpeed).Compress(make([]byte, maxText))
	if err != nil {
		t.Fatal(err)
	}
	text := cachedText{json: make([]byte, maxText-packed.Len()), packed: packed}
	add := func(v *kind.Version, uid string, text cachedText) {
		cache.texts.Add(textKey{version: v, uid: types.UID(uid)}, text, text.size())
	}
	has := func(v *kind.Version, uid string) bool {
		_, ok := cache.texts.Get(textKey{version: v, uid: types.UID(uid)}, func(cachedText) bool { return true })
		return ok
	}
	for i := range 2 * maxTexts / maxText {
		for _, v := range []*kind.Version{first, second} {
			add(v, fmt.Sprint(i), text)
		}
		if size := cache.figure(t, "bytes"); size > maxTexts || size < min(maxTexts, 2*(i+1)*maxText) {
			t.Fatalf("the cache has %d bytes after %d texts of %d bytes, at most %d are allowed", size, 2*(i+1), maxText, maxTexts)
		}
	}
	if add(first, "large", cachedText{json: make([]byte, maxText), packed: packed}); has(first, "large") {
		t.Error("a text larger than maxText is cached")
	}
	add(second, "last", text)
	cache.drop(first)
	for i := range 2 * maxTexts / maxText {
		if has(first, fmt.Sprint(i)) {
			t.Fatalf("the text of %d is still cached", i)
		}
	}
	if !has(second, "last") {
		t.Error("a text of another version is gone")
	}
	if cache.drop(second); cache.figure(t, "bytes") != 0 {
		t.Errorf("%d bytes are left", cache.figure(t, "bytes"))
	}
}

// TestWrongText puts a wrong text into the cache. Only a read of the same version, UID and resourceVersion sends it. So the content of
// an object must be the same in all reads with these three. It is not the same in the other cases here: a dry run, a DELETED event of a
// watch with a selector, an answer for the audit log.
func TestWrongText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	corrupt := func() *quick {
		cache := newQuick(w.format)
		text := cachedText{
			resourceVersion: "7", json: []byte(`{"wrong":true}`), event: []byte(`{"type":"MODIFIED","object":{"wrong":true}}` + "\n"),
		}
		cache.texts.Add(textKey{version: w.v1, uid: "1"}, text, text.size())
		return cache
	}
	event := func(kind watch.EventType, obj *object.Object) stored {
		return stored{list: object.NewList(w.v1.ListKind()), events: []watch.Event{{Type: kind, Object: obj}}}
	}
	tests := map[string]struct {
		query query
		from  stored
		wrong bool
	}{
		"GET":                                {query{verb: "get"}, w.holding("1", "7"), true},
		"LIST":                               {query{verb: "list"}, w.holding("1", "7"), true},
		"ADDED":                              {query{verb: "watch"}, event(watch.Added, w.ship("1", "7")), true},
		"MODIFIED":                           {query{verb: "watch"}, event(watch.Modified, w.ship("1", "7")), true},
		"DELETED":                            {query{verb: "watch"}, event(watch.Deleted, w.ship("1", "7")), false},
		"BOOKMARK":                           {query{verb: "watch"}, event(watch.Bookmark, w.ship("1", "7")), false},
		"another UID":                        {query{verb: "get"}, w.holding("2", "7"), false},
		"another resourceVersion":            {query{verb: "get"}, w.holding("1", "8"), false},
		"MODIFIED to another":                {query{verb: "watch"}, event(watch.Modified, w.ship("1", "8")), false},
		"a list of others":                   {query{verb: "list"}, w.holding("2", "8"), false},
		"no UID":                             {query{verb: "get"}, w.holding("", "7"), false},
		"metadata":                           {query{verb: "list", accept: as("PartialObjectMetadataList", "v1")}, w.holding("1", "7"), false},
		"indentation":                        {query{verb: "get", params: "pretty=true"}, w.holding("1", "7"), false},
		"GET, the audit log has the answer":  {query{verb: "get", ctx: audited(t, auditinternal.LevelRequestResponse)}, w.holding("1", "7"), false},
		"LIST, the audit log has the answer": {query{verb: "list", ctx: audited(t, auditinternal.LevelRequestResponse)}, w.holding("1", "7"), false},
		"WATCH in the audit log": {
			query{verb: "watch", ctx: audited(t, auditinternal.LevelRequestResponse)}, event(watch.Added, w.ship("1", "7")), false,
		},
		"the audit log has the request": {query{verb: "get", ctx: audited(t, auditinternal.LevelRequest)}, w.holding("1", "7"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := w.endpoint(t, w.v1, plain{}).ask(t, test.query, test.from)
			got := w.endpoint(t, w.v1, corrupt()).ask(t, test.query, test.from)
			if wrong := strings.Contains(got.Body, "wrong"); wrong != test.wrong || !wrong && got != want {
				t.Errorf("the answer has the wrong text: %t, want %t: %+v, plain %+v", wrong, test.wrong, got, want)
			}
		})
	}
	t.Run("another version", func(t *testing.T) {
		t.Parallel()
		from := w.holding("1", "7")
		from.list.SetAPIVersion("sea.example.com/v2")
		from.list.Items[0].SetAPIVersion("sea.example.com/v2")
		if got := w.endpoint(t, w.v2, corrupt()).ask(t, query{verb: "get"}, from); strings.Contains(got.Body, "wrong") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("dropped", func(t *testing.T) {
		t.Parallel()
		cache := corrupt()
		(&Shared{form: cache}).Drop(w.v1)
		if got := w.endpoint(t, w.v1, cache).ask(t, query{verb: "get"}, w.holding("1", "7")); strings.Contains(got.Body, "wrong") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the answer to a write", func(t *testing.T) {
		t.Parallel()
		cache := corrupt()
		scope := w.endpoint(t, w.v1, cache).scope
		encoder := scope.Serializer.EncoderForVersion(scope.Serializer.SupportedMediaTypes()[0].Serializer, w.v1.GroupVersion())
		var dryRun bytes.Buffer
		err := encoder.Encode(w.ship("1", "7"), &dryRun)
		if want, _ := w.format.Append(nil, w.ship("1", "7").Object); err != nil || dryRun.String() != string(want)+"\n" {
			t.Errorf("%q, %v, want %q", dryRun.String(), err, want)
		}
		before := cache.figure(t, "bytes")
		if err := encoder.Encode(w.ship("2", "7"), &dryRun); err != nil || cache.figure(t, "bytes") != before {
			t.Errorf("the cache takes a text from a write, %v", err)
		}
	})
}

// ship returns an object of version v1.
func (w world) ship(uid, resourceVersion string) *object.Object {
	metadata := map[string]any{"name": "a", "namespace": "default", "resourceVersion": resourceVersion}
	if uid != "" {
		metadata["uid"] = uid
	}
	return object.Of(map[string]any{"apiVersion": "sea.example.com/v1", "kind": "Ship", "metadata": metadata})
}

// holding returns a store with one object.
func (w world) holding(uid, resourceVersion string) stored {
	list := object.NewList(w.v1.ListKind())
	list.Items = []object.Object{*w.ship(uid, resourceVersion)}
	return stored{list: list}
}

// audited returns the context of a request that the audit log records at a level.
func audited(t *testing.T, level auditinternal.Level) context.Context {
	t.Helper()
	ctx := audit.WithAuditContext(t.Context())
	if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: level}, nil); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// The library encodes what is not a custom resource in the version of the answer.
func TestOtherAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, obj := range map[string]runtime.Object{
		"another version": func() runtime.Object {
			ship := w.ship("1", "7")
			ship.SetAPIVersion("sea.example.com/v2")
			return ship
		}(),
		"Unstructured": object.AsUnstructured(w.ship("1", "7")),
		"list":         object.AsUnstructured(w.holding("1", "7").list),
	} {
		var sent [2]bytes.Buffer
		for i, with := range []form{newQuick(w.format), plain{}} {
			serializer := w.endpoint(t, w.v1, with).scope.Serializer
			encoder := serializer.EncoderForVersion(serializer.SupportedMediaTypes()[0].Serializer, w.v1.GroupVersion())
			if err := encoder.Encode(obj, &sent[i]); err != nil {
				t.Fatal(err)
			}
		}
		if got := sent[0].String(); got != sent[1].String() || !strings.Contains(got, `"apiVersion":"sea.example.com/v1"`) {
			t.Errorf("%s: quick %q, plain %q", name, got, sent[1].String())
		}
	}
}
