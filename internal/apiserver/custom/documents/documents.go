package documents

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/custom/documents/plain"
	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/definition"
)

// Publisher publishes OpenAPI documents: the one of version 2, and those of version 3 by path, such as
// apis/apps/v1.
type Publisher interface {
	SetV2(document *openapi.Document)
	SetV3(path string, document *openapi.Document)
	RemoveV3(path string)
}

// form makes the v2 document. See the package comment.
type form interface {
	// Add returns a document with the paths and models of all served versions of definitions added to a document. For a path in
	// both, the given document wins. Add does not change it.
	Add(document *spec.Swagger, crds []*definition.CustomResourceDefinition) (*spec.Swagger, error)
	// Document returns the document that clients get. build returns a result of Add, to which other documents may have been added.
	Document(build func() (*spec.Swagger, error)) *openapi.Document
}

// Documents publishes the OpenAPI documents of custom resources. The zero value publishes nothing.
type Documents struct {
	mu        sync.Mutex
	publisher Publisher
	static    func() (*spec.Swagger, error)
	form      form
	// revision is part of the hashes of documents. Another program may render a definition in
	// another way, and clients keep a document by its hash.
	revision string
	// published holds the group versions that have documents, each with the number
	// of its last change.
	published map[schema.GroupVersion]uint64
	changes   atomic.Uint64
	// established are the established definitions by group, and foreign the v2 documents of other
	// servers.
	established map[string][]*definition.CustomResourceDefinition
	foreign     []*spec.Swagger
}

// New returns a Documents without definitions. static builds the v2 document of the built-in kinds. revision identifies the program.
func New(publisher Publisher, static func() (*spec.Swagger, error), revision string) *Documents {
	return &Documents{
		publisher: publisher, static: static, revision: revision, form: newForm(hasher(revision).identify),
		published:   map[schema.GroupVersion]uint64{},
		established: map[string][]*definition.CustomResourceDefinition{},
	}
}

// Published returns the group versions that have documents, each with a number that changes with the document. It builds no document.
func (d *Documents) Published() map[schema.GroupVersion]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.published)
}

// Update publishes the v3 documents of a group from its established definitions, and
// the v2 document, of which there is only one, from those of all groups.
func (d *Documents) Update(group string, established []*definition.CustomResourceDefinition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.publisher == nil {
		return
	}
	d.updateV3(group, established)
	d.established[group] = established
	if len(established) == 0 {
		delete(d.established, group)
	}
	d.updateV2()
}

// SetForeign adds v2 documents of other servers to the v2 document, in place of those of the last call. For a path in both, the document
// of this server wins. A model of another server gets a new name if this server has another model with its name.
func (d *Documents) SetForeign(foreign []*spec.Swagger) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.foreign = foreign
	d.updateV2()
}

// updateV2 publishes a v2 document that is built when a client asks for it. The caller holds mu.
func (d *Documents) updateV2() {
	foreign := d.foreign
	d.publisher.SetV2(d.form.Document(func() (*spec.Swagger, error) {
		document, err := d.static()
		if err != nil {
			return nil, err
		}
		if document, err = d.form.Add(document, d.all()); err != nil {
			return nil, err
		}
		return withForeign(document, foreign), nil
	}))
}

// all returns the established definitions.
func (d *Documents) all() []*definition.CustomResourceDefinition {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*definition.CustomResourceDefinition
	for _, group := range slices.Sorted(maps.Keys(d.established)) {
		all = append(all, d.established[group]...)
	}
	return all
}

func (d *Documents) updateV3(group string, crds []*definition.CustomResourceDefinition) {
	byVersion := map[schema.GroupVersion][]*definition.CustomResourceDefinition{}
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if v.Served {
				gv := schema.GroupVersion{Group: group, Version: v.Name}
				byVersion[gv] = append(byVersion[gv], crd)
			}
		}
	}
	for gv := range maps.Clone(d.published) {
		if gv.Group == group && byVersion[gv] == nil {
			d.publisher.RemoveV3("apis/" + gv.String())
			delete(d.published, gv)
		}
	}
	for gv, crds := range byVersion {
		d.published[gv] = d.changes.Add(1)
		d.publisher.SetV3("apis/"+gv.String(), openapi.NewV3(
			func() string { return hasher(d.revision).identify(gv, crds) },
			func() ([]byte, error) {
				document, err := plain.V3(gv, crds)
				if err != nil {
					return nil, err
				}
				return document.MarshalJSON()
			},
		))
	}
}
