package served

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/definition"
)

// watchGrace is the time after which the server ends the watches of a replaced resource.
// It is not zero, so that a watch that starts during the replacement is not cancelled
// before it begins.
const watchGrace = time.Second

// Resource serves the objects of one CustomResourceDefinition. A resource serves one state of the definition, see Serves. A request calls
// Acquire at its start and Release at its end. The storage of a retired resource is closed after the last Release.
type Resource struct {
	*kind.Kind
	// Terminating is set while the definition and its objects are being deleted.
	Terminating atomic.Bool
	// revision is that of the last state of the definition that this resource serves.
	revision atomic.Int64
	// hasVerdict is set if this state has the condition StoredObjectsValid.
	hasVerdict atomic.Bool

	holders sync.WaitGroup
	// inUse is the number of holders, and usedAt the time of the last release, in nanoseconds
	// since 1970. usedAt is zero before the first release.
	inUse, usedAt atomic.Int64
	// watches is the context of all watches; stopWatches cancels it.
	watches     context.Context
	stopWatches context.CancelFunc

	versions map[string]*Version
}

// New returns a resource. It opens nothing before the first request.
func New(config *Config, crd *definition.CustomResourceDefinition) *Resource {
	r := &Resource{Kind: kind.New(crd, &config.Kinds), versions: make(map[string]*Version, len(crd.Spec.Versions))}
	r.watches, r.stopWatches = context.WithCancel(context.Background())
	r.Observe(crd)
	for name, v := range r.Versions {
		r.versions[name] = &Version{Version: v, resource: r, config: config}
	}
	return r
}

// Serves reports whether this resource can also serve crd, a later state of its definition.
func (r *Resource) Serves(crd *definition.CustomResourceDefinition) bool {
	return r.CRD.UID == crd.UID && definition.SameForObjects(r.CRD, crd) &&
		apiequality.Semantic.DeepEqual(r.CRD.Status.AcceptedNames, crd.Status.AcceptedNames)
}

// Observe takes note of a state of the definition that this resource serves.
func (r *Resource) Observe(crd *definition.CustomResourceDefinition) {
	r.Terminating.Store(crd.DeletionTimestamp != nil)
	r.hasVerdict.Store(definition.FindCondition(crd, definition.StoredObjectsValid) != nil)
	if revision, err := strconv.ParseInt(crd.ResourceVersion, 10, 64); err == nil {
		r.revision.Store(revision)
	}
}

// Replace takes over what old, a closed resource of the same definition, has observed.
func (r *Resource) Replace(old *Resource) {
	r.Terminating.Store(old.Terminating.Load())
	r.revision.Store(old.revision.Load())
	r.hasVerdict.Store(old.hasVerdict.Load())
}

// Revision returns the revision of the definition that a write of this resource compares: the one that this resource serves, and no later
// one than the observed state, which may be nil. The server learns of a new state in two steps: the resource first.
func (r *Resource) Revision(observed *definition.CustomResourceDefinition) int64 {
	revision := r.revision.Load()
	if observed != nil {
		if seen, err := strconv.ParseInt(observed.ResourceVersion, 10, 64); err == nil {
			revision = min(revision, seen)
		}
	}
	return revision
}

// Version returns the version that a request asks for. It returns nil if that version
// is not served, or if the request is namespaced and the resource is not, or the other
// way round.
func (r *Resource) Version(info *genericapirequest.RequestInfo) *Version {
	v := r.versions[info.APIVersion]
	if v == nil || !v.Spec.Served {
		return nil
	}
	if !r.Namespaced() && info.Namespace != "" {
		return nil
	}
	if r.Namespaced() && info.Namespace == "" && info.Verb != "list" && info.Verb != "watch" && info.Verb != "deletecollection" {
		return nil
	}
	return v
}

// Acquire keeps the storage open until Release.
func (r *Resource) Acquire() {
	r.holders.Add(1)
	r.inUse.Add(1)
}

// IsInUse reports whether a request uses the resource.
func (r *Resource) IsInUse() bool { return r.inUse.Load() > 0 }

// WasUsed reports whether a request has ended that used the resource.
func (r *Resource) WasUsed() bool { return r.usedAt.Load() != 0 }

// WasUsedBefore reports whether the last request that used the resource ended before a time.
func (r *Resource) WasUsedBefore(at time.Time) bool {
	return r.WasUsed() && r.usedAt.Load() < at.UnixNano()
}

// Release ends a use of the resource.
func (r *Resource) Release() {
	r.usedAt.Store(time.Now().UnixNano())
	r.inUse.Add(-1)
	r.holders.Done()
}

// Retire closes the storage in the background after the last release. The caller makes sure that no request acquires the resource any
// more.
func (r *Resource) Retire() {
	go func() {
		stop := time.AfterFunc(watchGrace, r.stopWatches)
		r.holders.Wait()
		stop.Stop()
		r.Close()
	}()
}

// Close closes the storage.
func (r *Resource) Close() {
	r.stopWatches()
	for _, v := range r.versions {
		v.close()
	}
}

// Warm opens the versions of this resource that are open in old, the resource that this
// one will replace. The next requests then do not wait until a version is open.
func (r *Resource) Warm(old *Resource) {
	for name, was := range old.versions {
		if v := r.versions[name]; v != nil && was.isOpen() {
			// open remembers its error and returns it to every request for this version.
			_ = v.open()
		}
	}
	if old.HasCompiledWrites() && r.IsCompiled() {
		_ = r.CompileWrites() // as above
	}
}

// Store returns the store of the objects in the storage version.
func (r *Resource) Store() (*genericregistry.Store, error) {
	v := r.storage()
	err := v.open()
	return v.store, err
}

// StorageCodec returns a codec that decodes stored objects of every version, and encodes them in the storage version. It opens no store, and
// keeps no objects.
func (r *Resource) StorageCodec() (runtime.Codec, error) {
	if err := r.Compile(); err != nil {
		return nil, err
	}
	return newCodec(r.Storage(), r.storage().config.Format, nil), nil
}

// storage returns the version that objects are stored in.
func (r *Resource) storage() *Version { return r.versions[r.Storage().Name] }
