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
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/definition"
)

// watchGrace is how long watches of a definition that was replaced go on, so
// that one which just begins is never met by closed storage.
const watchGrace = time.Second

// served is one definition as requests meet it.
type resource struct {
	server *Server
	crd    *definition.CustomResourceDefinition
	kind   schema.GroupKind
	// terminating is set while the definition and its objects are going.
	terminating atomic.Bool
	holders     sync.WaitGroup
	// watches ends the watches.
	watches     context.Context
	stopWatches context.CancelFunc

	versions map[string]*version

	compileOnce sync.Once
	compileErr  error
	// What follows is there once compiled.
	convertor convertor
	merger    merger
}

// isServed says whether a definition is to be served at all.
func isServed(crd *definition.CustomResourceDefinition) bool {
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

// same says whether a definition is served as this one is.
func (r *resource) same(crd *definition.CustomResourceDefinition) bool {
	return r.crd.UID == crd.UID && apiequality.Semantic.DeepEqual(r.crd.Spec, crd.Spec) &&
		apiequality.Semantic.DeepEqual(r.crd.Status.AcceptedNames, crd.Status.AcceptedNames)
}

func (r *resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.crd.Spec.Group, Resource: r.crd.Status.AcceptedNames.Plural}
}

func (r *resource) namespaced() bool { return r.crd.Spec.Scope == apiextensionsv1.NamespaceScoped }

// version is the one that a request asks for, nil if it is not served or asked
// for in the wrong scope.
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

// compile makes what all versions share, once, when the first request comes.
func (r *resource) compile() error {
	r.compileOnce.Do(func() { r.compileErr = r.doCompile() })
	return r.compileErr
}

func (r *resource) doCompile() error {
	compiled, err := definition.Compile(r.crd)
	if err != nil {
		return err
	}
	for name, v := range r.versions {
		v.compiled, v.validator = compiled[name], compiled[name]
		v.embeds = hasEmbedded(v.compiled.Structural)
	}
	for _, v := range r.versions {
		v.others = othersOf(v)
	}
	if r.convertor, err = newConvertor(r); err != nil {
		return err
	}
	r.merger, err = newMerger(r)
	return err
}

func (r *resource) release() { r.holders.Done() }

// retire closes the storage when the last holder is gone. No one can acquire it
// any more.
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

// warm opens the versions that were open in a definition that this one is to
// replace, so that no request waits for it.
func (r *resource) warm(old *resource) {
	for name, was := range old.versions {
		if v := r.versions[name]; v != nil && was.isOpen() {
			// A version that cannot be opened says so to the requests for it.
			_ = v.open()
		}
	}
}

// storage is the version that objects are stored in.
func (r *resource) storage() *version { return r.versions[r.crd.Spec.StorageVersion()] }

var _ runtime.ObjectConvertor = convertor{}

func definitionResource(crd *definition.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Status.AcceptedNames.Plural}
}
