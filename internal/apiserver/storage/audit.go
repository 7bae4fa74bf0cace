package storage

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/consistency"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
)

// leaveChecksToAudits turns the library's check of its watch caches off, which an audit replaces: it does not compare the content of
// objects, and ends the process if an environment variable is set.
var leaveChecksToAudits = sync.OnceFunc(func() {
	consistency.PanicOnCacheInconsistency = false
	if err := utilfeature.DefaultMutableFeatureGate.OverrideDefault(features.DetectCacheInconsistency, false); err != nil {
		klog.ErrorS(err, "the library checks its watch caches too", "component", "storage")
	}
})

// WatchCaches are the watch caches of a server. The zero value has none. A nil *WatchCaches collects none.
type WatchCaches struct {
	mu   sync.Mutex
	open []*watchCache
}

// add adds a cache, and returns a function that removes it.
func (w *WatchCaches) add(c *watchCache) (remove func()) {
	if w == nil {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, c)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		c.closed.Store(true)
		w.open = slices.DeleteFunc(w.open, func(other *watchCache) bool { return other == c })
	}
}

// Audited returns the caches that are open now.
func (w *WatchCaches) Audited() []cacheaudit.Cache {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]cacheaudit.Cache, 0, len(w.open))
	for _, c := range w.open {
		all = append(all, c)
	}
	return all
}

// Comparer is a codec that can tell whether a cached object is the one that a stored text is decoded to, without any object that the codec
// keeps. known is false if it cannot tell.
type Comparer interface {
	Same(cached runtime.Object, stored []byte, revision int64) (same, known bool)
}

// plainObjects decodes stored objects as the storage of a resource does.
type plainObjects struct {
	codec       runtime.Codec
	decoder     etcd3.Decoder
	transformer value.Transformer
	newFunc     func() runtime.Object
}

func newPlainObjects(config *storagebackend.ConfigForResource, newFunc func() runtime.Object) plainObjects {
	transformer := config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	return plainObjects{config.Codec, etcd3.NewDefaultDecoder(config.Codec, storage.APIObjectVersioner{}), transformer, newFunc}
}

// same reports whether a cached object is that of a pair. known is false if the pair cannot be decrypted or decoded.
func (p plainObjects) same(ctx context.Context, cached runtime.Object, pair etcd.Pair) (same, known bool) {
	text, _, err := p.transformer.TransformFromStorage(ctx, pair.Value, value.DefaultContext(pair.Key))
	if err != nil {
		return false, false
	}
	if comparer, ok := p.codec.(Comparer); ok {
		return comparer.Same(cached, text, pair.Revision)
	}
	anew := p.newFunc()
	if err := p.decoder.Decode(text, anew, pair.Revision); err != nil {
		return false, false
	}
	if reflect.DeepEqual(cached, anew) {
		return true, true
	}
	// Objects with one encoding may differ in memory, for example in the form of a quantity. The codec writes to the object that it encodes.
	one, oneErr := runtime.Encode(p.codec, cached.DeepCopyObject())
	other, otherErr := runtime.Encode(p.codec, anew)
	return bytes.Equal(one, other), oneErr == nil && otherErr == nil
}

// keyInLog names an object of a key without the prefix of a resource.
func (c *watchCache) keyInLog(key string) string {
	return c.resource.String() + " " + strings.TrimPrefix(key, c.prefix+"/")
}
