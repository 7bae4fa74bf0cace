package custom

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/immutability"
)

// watchGrace is the time after which the server ends the watches of a replaced resource.
// It is not zero, so that a watch that starts during the replacement is not cancelled
// before it begins.
const watchGrace = time.Second

// resource serves the objects of one CustomResourceDefinition. When the spec or the
// accepted names of the definition change, another resource replaces it, see same. A
// request calls Server.acquire at its start and release at its end. The storage of a
// replaced resource is closed after the last release.
type resource struct {
	server *Server
	crd    *definition.CustomResourceDefinition
	kind   schema.GroupKind
	// terminating is set while the definition and its objects are being deleted.
	terminating atomic.Bool
	holders     sync.WaitGroup
	// inUse is the number of holders, and usedAt the time of the last release, in nanoseconds
	// since 1970. It is zero before the first release.
	inUse, usedAt atomic.Int64
	// watches is the context of all watches; stopWatches cancels it.
	watches     context.Context
	stopWatches context.CancelFunc

	versions map[string]*version

	compiled compilation
	// The fields below are set by compile.
	convertor convertor
	merger    merger

	completed compilation
	// types are the types of merger. complete sets them.
	types managedfields.TypeConverter
}

// compilation is work that is done once, and measured.
type compilation struct {
	once sync.Once
	err  error
	// succeeded is true after the work was done without an error.
	succeeded atomic.Bool
}

// do does the work if no call did it before, and returns its error.
func (c *compilation) do(meters meters, work func() error) error {
	c.once.Do(func() {
		began := time.Now()
		c.err = work()
		meters.observe(began, c.err)
		c.succeeded.Store(c.err == nil)
	})
	return c.err
}

// isEstablished reports whether a definition has the condition Established. Only such
// a definition is served.
func isEstablished(crd *definition.CustomResourceDefinition) bool {
	return definition.IsConditionTrue(crd, apiextensionsv1.Established)
}

func newResource(s *Server, crd *definition.CustomResourceDefinition) *resource {
	r := &resource{
		server:   s,
		crd:      crd,
		kind:     schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Status.AcceptedNames.Kind},
		versions: make(map[string]*version, len(crd.Spec.Versions)),
	}
	r.watches, r.stopWatches = context.WithCancel(context.Background())
	r.terminating.Store(crd.DeletionTimestamp != nil)
	for i := range crd.Spec.Versions {
		name := crd.Spec.Versions[i].Name
		r.versions[name] = &version{resource: r, name: name, spec: &crd.Spec.Versions[i]}
	}
	return r
}

// same reports whether this resource can also serve crd, a later state of its definition.
func (r *resource) same(crd *definition.CustomResourceDefinition) bool {
	return r.crd.UID == crd.UID && definition.SameSpec(&r.crd.Spec, &crd.Spec) && sameMarks(r.crd, crd) &&
		apiequality.Semantic.DeepEqual(r.crd.Status.AcceptedNames, crd.Status.AcceptedNames)
}

// sameMarks reports whether two states of a definition have the same annotation with markers.
func sameMarks(a, b *definition.CustomResourceDefinition) bool {
	return a.Annotations[immutability.Annotation] == b.Annotations[immutability.Annotation]
}

func (r *resource) groupResource() schema.GroupResource { return definitionResource(r.crd) }

func (r *resource) namespaced() bool { return r.crd.Spec.Scope == apiextensionsv1.NamespaceScoped }

// version returns the version that a request asks for. It returns nil if that version
// is not served, or if the request is namespaced and the resource is not, or the other
// way round.
func (r *resource) version(info *genericapirequest.RequestInfo) *version {
	v := r.versions[info.APIVersion]
	if v == nil || !v.spec.Served {
		return nil
	}
	if !r.namespaced() && info.Namespace != "" {
		return nil
	}
	if r.namespaced() && info.Namespace == "" && info.Verb != "list" && info.Verb != "watch" && info.Verb != "deletecollection" {
		return nil
	}
	return v
}

// compile compiles what reads need of the schemas of all versions, once, when the first request arrives.
func (r *resource) compile() error { return r.compiled.do(r.server.meters, r.doCompile) }

func (r *resource) doCompile() error {
	compiled, err := definition.CompileForReads(r.crd)
	if err != nil {
		return err
	}
	for name, v := range r.versions {
		v.compiled, v.validator = compiled[name], compiled[name]
	}
	for name, v := range r.versions {
		for _, other := range definition.AlsoMarked(r.crd, compiled, name) {
			v.alsoMarked = append(v.alsoMarked, r.versions[other])
		}
		v.protecting = protectingPolicies(v)
	}
	r.merger = merger{lazyTypes{r}}
	r.convertor, err = newConvertor(r)
	return err
}

// complete compiles what only writes need, once, when the first write arrives. It is most of the memory of a
// compiled definition.
func (r *resource) complete() error { return r.completed.do(r.server.meters, r.doComplete) }

func (r *resource) doComplete() error {
	for _, v := range r.versions {
		if err := v.compiled.Complete(); err != nil {
			return err
		}
		v.embeds = v.compiled.Embeds()
	}
	var err error
	r.types, err = newTypes(r)
	return err
}

func (r *resource) release() {
	r.usedAt.Store(time.Now().UnixNano())
	r.inUse.Add(-1)
	r.holders.Done()
}

// retire closes the storage in the background after the last release. The resource is
// no longer in Server.resources, so no request can acquire it.
func (r *resource) retire() {
	go func() {
		stop := time.AfterFunc(watchGrace, r.stopWatches)
		r.holders.Wait()
		stop.Stop()
		r.close()
	}()
}

// close closes the storage.
func (r *resource) close() {
	r.stopWatches()
	for _, v := range r.versions {
		v.close()
	}
}

// warm opens the versions of this resource that are open in old, the resource that this
// one will replace. The next requests then do not wait until a version is open.
func (r *resource) warm(old *resource) {
	for name, was := range old.versions {
		if v := r.versions[name]; v != nil && was.isOpen() {
			// open remembers its error and returns it to every request for this version.
			_ = v.open()
		}
	}
	if old.completed.succeeded.Load() && r.compiled.succeeded.Load() {
		_ = r.complete() // as above
	}
}

// storage returns the version that objects are stored in.
func (r *resource) storage() *version { return r.versions[r.crd.Spec.StorageVersion()] }

var _ runtime.ObjectConvertor = convertor{}

func definitionResource(crd *definition.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Status.AcceptedNames.Plural}
}
