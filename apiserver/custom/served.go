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
type served struct {
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

func newServed(s *Server, crd *definition.CustomResourceDefinition) *served {
	d := &served{
		server:   s,
		crd:      crd,
		kind:     schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Status.AcceptedNames.Kind},
		versions: make(map[string]*version, len(crd.Spec.Versions)),
	}
	d.watches, d.stopWatches = context.WithCancel(context.Background())
	d.terminating.Store(crd.DeletionTimestamp != nil)
	for i := range crd.Spec.Versions {
		name := crd.Spec.Versions[i].Name
		d.versions[name] = &version{served: d, name: name, spec: &crd.Spec.Versions[i]}
	}
	return d
}

// same says whether a definition is served as this one is.
func (d *served) same(crd *definition.CustomResourceDefinition) bool {
	return d.crd.UID == crd.UID && apiequality.Semantic.DeepEqual(d.crd.Spec, crd.Spec) &&
		apiequality.Semantic.DeepEqual(d.crd.Status.AcceptedNames, crd.Status.AcceptedNames)
}

func (d *served) resource() schema.GroupResource {
	return schema.GroupResource{Group: d.crd.Spec.Group, Resource: d.crd.Status.AcceptedNames.Plural}
}

func (d *served) namespaced() bool { return d.crd.Spec.Scope == apiextensionsv1.NamespaceScoped }

// version is the one that a request asks for, nil if it is not served or asked
// for in the wrong scope.
func (d *served) version(info *genericapirequest.RequestInfo) *version {
	v := d.versions[info.APIVersion]
	if v == nil || !v.spec.Served {
		return nil
	}
	if !d.namespaced() && info.Namespace != "" {
		return nil
	}
	if d.namespaced() && info.Namespace == "" && info.Verb != "list" && info.Verb != "watch" && info.Verb != "deletecollection" {
		return nil
	}
	return v
}

// compile makes what all versions share, once, when the first request comes.
func (d *served) compile() error {
	d.compileOnce.Do(func() { d.compileErr = d.doCompile() })
	return d.compileErr
}

func (d *served) doCompile() error {
	compiled, err := definition.Compile(d.crd)
	if err != nil {
		return err
	}
	for name, v := range d.versions {
		v.compiled, v.validator = compiled[name], compiled[name]
		v.embeds = hasEmbedded(v.compiled.Structural)
	}
	for _, v := range d.versions {
		v.others = othersOf(v)
	}
	if d.convertor, err = newConvertor(d); err != nil {
		return err
	}
	d.merger, err = newMerger(d)
	return err
}

func (d *served) release() { d.holders.Done() }

// retire closes the storage when the last holder is gone. No one can acquire it
// any more.
func (d *served) retire() {
	go func() {
		stop := time.AfterFunc(watchGrace, d.stopWatches)
		d.holders.Wait()
		stop.Stop()
		d.close()
	}()
}

// close closes the storage.
func (d *served) close() {
	d.stopWatches()
	for _, v := range d.versions {
		v.close()
	}
}

// warm opens the versions that were open in a definition that this one is to
// replace, so that no request waits for it.
func (d *served) warm(old *served) {
	for name, was := range old.versions {
		if v := d.versions[name]; v != nil && was.isOpen() {
			// A version that cannot be opened says so to the requests for it.
			_ = v.open()
		}
	}
}

// storage is the version that objects are stored in.
func (d *served) storage() *version { return d.versions[d.crd.Spec.StorageVersion()] }

var _ runtime.ObjectConvertor = convertor{}

func definitionResource(crd *definition.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Status.AcceptedNames.Plural}
}
