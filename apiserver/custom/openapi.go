package custom

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/apiserver/deflate"
	"holdfast.dev/holdfast/apiserver/openapi"
	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/immutability"
)

// Publisher publishes OpenAPI documents: the one of version 2, and those of version 3 by path, such as
// apis/apps/v1.
type Publisher interface {
	SetV2(document *openapi.Document)
	SetV3(path string, document *openapi.Document)
	RemoveV3(path string)
}

// documents publishes the OpenAPI documents of custom resources. A document is built
// when a client asks for it, and again after a change.
type documents struct {
	mu        sync.Mutex
	publisher Publisher
	static    func() (*spec.Swagger, error)
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
	// parts are those of the v2 document that was built last.
	parts *parts
}

// Publish sets the publisher of the OpenAPI documents. The v2 document is merged
// with the result of static, the document of the built-in kinds. There is one v3 document
// for each version of a group. Publish must be called before Start.
func (s *Server) Publish(publisher Publisher, static func() (*spec.Swagger, error)) {
	s.openapi = &documents{
		publisher: publisher, static: static, revision: cmp.Or(s.config.Revision, uuid.NewString()), published: map[schema.GroupVersion]uint64{},
		established: map[string][]*definition.CustomResourceDefinition{},
	}
	s.openapi.parts = newParts(s.openapi.identify)
}

// Schemas returns the group versions that have OpenAPI documents, each with a number
// that changes with the document. It builds no document.
func (s *Server) Schemas() map[schema.GroupVersion]uint64 {
	s.openapi.mu.Lock()
	defer s.openapi.mu.Unlock()
	return maps.Clone(s.openapi.published)
}

// update publishes the v3 documents of a group from its established definitions, and
// the v2 document, of which there is only one, from those of all groups.
func (d *documents) update(group string, established []*definition.CustomResourceDefinition) {
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

// MergeOpenAPI merges v2 documents of other servers into the v2 document, in place of those of the
// last call. For a path in both, the document of this server wins. A model of another server gets a
// new name if this server has another model with its name.
func (s *Server) MergeOpenAPI(foreign []*spec.Swagger) {
	d := s.openapi
	d.mu.Lock()
	defer d.mu.Unlock()
	d.foreign = foreign
	d.updateV2()
}

// updateV2 publishes a v2 document that is built when a client asks for it. The caller holds mu.
func (d *documents) updateV2() {
	foreign := d.foreign
	d.publisher.SetV2(openapi.NewV2Pieces(func() ([]deflate.Piece, error) {
		all, err := d.parts.of(d.all())
		if err != nil {
			return nil, err
		}
		static, err := d.static()
		if err != nil {
			return nil, err
		}
		document, err := merge(static, all)
		if err != nil {
			return nil, err
		}
		for _, other := range foreign {
			merged, err := builder.MergeSpecs(document, withoutKinds(other, document.Definitions))
			if err != nil {
				// One server cannot make the document of all others fail.
				klog.ErrorS(err, "OpenAPI v2 of an aggregated API is left out")
				continue
			}
			document = merged
		}
		return assemble(document)
	}))
}

// all returns the established definitions.
func (d *documents) all() []*definition.CustomResourceDefinition {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*definition.CustomResourceDefinition
	for _, group := range slices.Sorted(maps.Keys(d.established)) {
		all = append(all, d.established[group]...)
	}
	return all
}

// withoutKinds returns the document without the kinds of those models that are also in known. The
// library that merges documents would add these kinds to the known models, which other documents
// share, and it panics if a known model has no kind.
func withoutKinds(document *spec.Swagger, known spec.Definitions) *spec.Swagger {
	out := *document
	out.Definitions = maps.Clone(document.Definitions)
	for name, model := range out.Definitions {
		if _, exists := known[name]; exists && model.Extensions != nil {
			model.Extensions = maps.Clone(model.Extensions)
			delete(model.Extensions, "x-kubernetes-group-version-kind")
			out.Definitions[name] = model
		}
	}
	return &out
}

func (d *documents) updateV3(group string, crds []*definition.CustomResourceDefinition) {
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
			func() string { return d.identify(gv, crds) },
			func() ([]byte, error) {
				document, err := buildV3(gv, crds)
				if err != nil {
					return nil, err
				}
				return document.MarshalJSON()
			},
		))
	}
}

// identify returns a hash of all that the document of a group version is made of. To make it from the
// document would build the documents of all definitions when a client asks for the list of them.
func (d *documents) identify(gv schema.GroupVersion, crds []*definition.CustomResourceDefinition) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	_ = encoder.Encode([]string{d.revision, gv.String()}) // a hash accepts every write
	for _, crd := range crds {
		v, text := *crd.Spec.Version(gv.Version), []byte(nil)
		if v.Schema != nil {
			// The encoder would read the whole text of the schema to remove spaces, and a stored schema has none.
			text, v.Schema = v.Schema.OpenAPIV3Schema, nil
		}
		_ = encoder.Encode([]any{
			crd.Spec.Group, crd.Spec.Scope, crd.Spec.Names, crd.Status.AcceptedNames, crd.Annotations[immutability.Annotation],
			crd.Spec.Pruned(gv.Version), v, len(text),
		})
		hash.Write(text)
	}
	return fmt.Sprintf("%X", hash.Sum(nil))
}

// pathsOnly returns a definition without schemas. Kubernetes' OpenAPI builder builds the
// paths from it. The builder does not get the schemas, because it is slow and drops the
// keywords that it does not know. definition.Publish renders the schemas instead.
func pathsOnly(crd *definition.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	outline := *crd
	outline.Spec.Versions = slices.Clone(crd.Spec.Versions)
	for i := range outline.Spec.Versions {
		outline.Spec.Versions[i].Schema = nil
	}
	return definition.Typed(&outline)
}

func buildV3(gv schema.GroupVersion, crds []*definition.CustomResourceDefinition) (*spec3.OpenAPI, error) {
	var parts []*spec3.OpenAPI
	for _, crd := range crds {
		paths, err := pathsOnly(crd)
		if err != nil {
			return nil, err
		}
		part, err := builder.BuildOpenAPIV3(paths, gv.Version, builder.Options{AllowNonStructural: true})
		if err != nil {
			return nil, err
		}
		model, err := definition.Publish(crd, gv.Version)
		if err != nil {
			return nil, err
		}
		if part.Components != nil {
			part.Components.Schemas[definition.ModelName(gv.WithKind(crd.Spec.Names.Kind))] = model.OpenAPIV3()
		}
		parts = append(parts, part)
	}
	return builder.MergeSpecsV3(parts...)
}
