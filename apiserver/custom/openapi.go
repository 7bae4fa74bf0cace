package custom

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/definition"
)

// documents are the OpenAPI documents of custom resources. They are built when
// somebody asks for them, and again after a change.
type documents struct {
	mu     sync.Mutex
	v2     *handler.OpenAPIService
	v3     *handler3.OpenAPIService
	static *spec.Swagger
	// published are the paths that v3 has documents for, with the number of the
	// change that each was last part of.
	published map[schema.GroupVersion]uint64
	changes   atomic.Uint64
}

// Publish says where OpenAPI documents go: v2 together with those of the built-in
// kinds, v3 for each version of a group. It comes before Start.
func (s *Server) Publish(v2 *handler.OpenAPIService, v3 *handler3.OpenAPIService, static *spec.Swagger) {
	s.openapi = &documents{v2: v2, v3: v3, static: static, published: map[schema.GroupVersion]uint64{}}
}

// Schemas are the versions of groups that there are documents for, each with a
// number that another document of it would have another of. It builds nothing.
func (s *Server) Schemas() map[schema.GroupVersion]uint64 {
	s.openapi.mu.Lock()
	defer s.openapi.mu.Unlock()
	return maps.Clone(s.openapi.published)
}

// update publishes the definitions of a group that are served, and all of them
// in v2, which is one document.
func (d *documents) update(group string, changed, all []*definition.CustomResourceDefinition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.v3 != nil {
		d.updateV3(group, changed)
	}
	if d.v2 != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(crd *definition.CustomResourceDefinition) bool { return !isEstablished(crd) })
		d.v2.UpdateSpecLazy(cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
			swagger, err := d.buildV2(all)
			return swagger, d.tag(), err
		})))
	}
}

// tag is another one each time.
func (d *documents) tag() string { return strconv.FormatUint(d.changes.Add(1), 10) }

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
			d.v3.DeleteGroupVersion("apis/" + gv.String())
			delete(d.published, gv)
		}
	}
	for gv, crds := range byVersion {
		d.published[gv] = d.changes.Add(1)
		d.v3.UpdateGroupVersionLazy("apis/"+gv.String(), cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
			document, err := buildV3(gv, crds)
			return document, d.tag(), err
		})))
	}
}

// pathsOnly is a definition without schemas, for upstream's builder of paths. It
// would leave out of the schemas what it does not know, and take its time for it.
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
			part.Components.Schemas[modelName(gv.WithKind(crd.Spec.Names.Kind))] = model.OpenAPIV3()
		}
		parts = append(parts, part)
	}
	return builder.MergeSpecsV3(parts...)
}

func (d *documents) buildV2(crds []*definition.CustomResourceDefinition) (*spec.Swagger, error) {
	var parts []*spec.Swagger
	for _, crd := range crds {
		paths, err := pathsOnly(crd)
		if err != nil {
			return nil, err
		}
		for _, v := range crd.Spec.Versions {
			if !v.Served {
				continue
			}
			part, err := builder.BuildOpenAPIV2(paths, v.Name, builder.Options{V2: true, AllowNonStructural: true})
			if err != nil {
				return nil, err
			}
			model, err := definition.Publish(crd, v.Name)
			if err != nil {
				return nil, err
			}
			part.Definitions[modelName(runtimeKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})] = *model.OpenAPIV2()
			// The document of the built-in kinds has no defaults either.
			part.Definitions = handler.PruneDefaults(part.Definitions)
			parts = append(parts, part)
		}
	}
	return builder.MergeSpecs(d.static, parts...)
}
