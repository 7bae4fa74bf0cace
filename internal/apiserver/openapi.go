package apiserver

import (
	"fmt"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/openapi"
)

// published are the OpenAPI documents of the server. k8s.io/apiserver would build the
// documents of the built-in kinds before the server is ready, which takes a fifth of the
// start. Here they are built when a client first asks for one.
type published struct {
	*documents
	// static builds the v2 document of the built-in kinds.
	static func() (*spec.Swagger, error)
}

// builtInDocuments are the v3 documents of the built-in kinds. They share parts that the builder
// changes, so all of them are built before one is encoded, and by one goroutine.
type builtInDocuments struct {
	build func() (map[string][]byte, error)

	mu sync.Mutex
	// built are the documents that take has not returned yet. It is nil before they are built.
	built map[string][]byte
}

// take returns a document, once. The caller keeps it.
func (d *builtInDocuments) take(path string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.built == nil {
		var err error
		if d.built, err = d.build(); err != nil {
			return nil, err
		}
	}
	document := d.built[path]
	delete(d.built, path)
	return document, nil
}

// buildV2 builds the v2 document of the built-in kinds.
func buildV2(services []*restful.WebService, config *common.Config) (*spec.Swagger, error) {
	document, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), config)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI v2: %w", err)
	}
	document.Definitions = handler.PruneDefaults(document.Definitions)
	return document, nil
}

// publishOpenAPI serves /openapi/v2 and /openapi/v3 for the built-in kinds. All of them
// must be installed.
func publishOpenAPI(server *genericapiserver.GenericAPIServer, generic *genericapiserver.Config) published {
	services, mux := server.Handler.GoRestfulContainer.RegisteredWebServices(), server.Handler.NonGoRestfulMux
	var building sync.Mutex
	out := published{documents: newDocuments(), static: func() (*spec.Swagger, error) {
		building.Lock()
		defer building.Unlock()
		return buildV2(services, generic.OpenAPIConfig)
	}}
	out.SetV2(openapi.NewV2(func() ([]byte, error) {
		document, err := out.static()
		if err != nil {
			return nil, err
		}
		return document.MarshalJSON()
	}))
	// All kinds are installed, so the next use of the definitions is the first request for a document. Many servers get none.
	generic.OpenAPIV3Config.Definitions = nil
	groups := &builtInDocuments{build: func() (map[string][]byte, error) {
		return buildGroupDocuments(services, withDefinitions(*generic.OpenAPIV3Config))
	}}
	for _, service := range services {
		path := documentPath(service)
		out.SetV3(path, openapi.NewV3(nil, func() ([]byte, error) { return groups.take(path) }))
	}
	out.register(mux)
	return out
}

// withDefinitions returns a config with the definitions of all types. Without them, the builder would get them for each document.
func withDefinitions(config common.OpenAPIV3Config) *common.OpenAPIV3Config {
	config.Definitions = config.GetDefinitions(func(name string) spec.Ref {
		model, _ := config.GetDefinitionName(name)
		return spec.MustCreateRef("#/components/schemas/" + common.EscapeJsonPointer(model))
	})
	return &config
}

// documentPath returns the path of the v3 document of a group and version, such as
// "apis/apps/v1".
func documentPath(service *restful.WebService) string {
	return strings.TrimPrefix(service.RootPath(), "/")
}

// buildGroupDocuments builds the v3 documents of all groups and versions, by path.
func buildGroupDocuments(services []*restful.WebService, config *common.OpenAPIV3Config) (map[string][]byte, error) {
	documents := make(map[string]*spec3.OpenAPI, len(services))
	for _, service := range services {
		document, err := buildGroupDocument(service, config)
		if err != nil {
			return nil, err
		}
		documents[documentPath(service)] = document
	}
	encoded := make(map[string][]byte, len(services))
	for path, document := range documents {
		var err error
		if encoded[path], err = document.MarshalJSON(); err != nil {
			return nil, fmt.Errorf("encode OpenAPI v3 of %s: %w", path, err)
		}
	}
	return encoded, nil
}

// buildGroupDocument builds the v3 document of one group and version.
func buildGroupDocument(service *restful.WebService, config *common.OpenAPIV3Config) (*spec3.OpenAPI, error) {
	document, err := builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices([]*restful.WebService{service}), config)
	if err != nil {
		return nil, fmt.Errorf("build OpenAPI v3 of %s: %w", service.RootPath(), err)
	}
	group, version, _ := strings.Cut(strings.TrimPrefix(service.RootPath(), "/apis/"), "/")
	if strings.HasPrefix(service.RootPath(), "/api/") {
		group, version = "", strings.TrimPrefix(service.RootPath(), "/api/")
	}
	if version != "" && document.Components != nil {
		for _, model := range document.Components.Schemas {
			keepKindsOf(model, group, version)
		}
	}
	return document, nil
}

// keepKindsOf removes from the model of a type that every group has, such as
// DeleteOptions, the kinds of all groups but the given one and the core group, as Kubernetes
// does.
func keepKindsOf(model *spec.Schema, group, version string) {
	const key = "x-kubernetes-group-version-kind"
	kinds, _ := model.Extensions[key].([]any)
	var kept []any
	for _, item := range kinds {
		kind, _ := item.(map[string]any)
		if kind["kind"] != "DeleteOptions" && kind["kind"] != "WatchEvent" {
			return
		}
		if kind["group"] == group && kind["version"] == version || kind["group"] == "" && kind["version"] == "v1" {
			kept = append(kept, item)
		}
	}
	if len(kept) > 0 {
		model.Extensions[key] = kept
	}
}
