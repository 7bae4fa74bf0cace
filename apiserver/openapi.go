package apiserver

import (
	"fmt"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// published are the OpenAPI documents of the server. k8s.io/apiserver would build the
// documents of the built-in kinds before the server is ready, which takes a fifth of the
// start. Here they are built when a client first asks for one.
type published struct {
	v2 *handler.OpenAPIService
	v3 *groupDocuments
	// static returns the v2 document of the built-in kinds. The caller does not change it.
	static func() (*spec.Swagger, error)
}

// publishOpenAPI serves /openapi/v2 and /openapi/v3 for the built-in kinds. All of them
// must be installed.
func publishOpenAPI(server *genericapiserver.GenericAPIServer, generic *genericapiserver.Config) published {
	services, mux := server.Handler.GoRestfulContainer.RegisteredWebServices(), server.Handler.NonGoRestfulMux
	out := published{
		v3: newGroupDocuments(),
		static: sync.OnceValues(func() (*spec.Swagger, error) {
			document, err := builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), generic.OpenAPIConfig)
			if err != nil {
				return nil, fmt.Errorf("build OpenAPI v2: %w", err)
			}
			document.Definitions = handler.PruneDefaults(document.Definitions)
			return document, nil
		}),
	}
	out.v2 = handler.NewOpenAPIServiceLazy(cached.Once(cached.Func(func() (*spec.Swagger, string, error) {
		document, err := out.static()
		return document, "built-in", err
	})))
	out.v2.RegisterOpenAPIVersionedService("/openapi/v2", mux)
	// The documents share parts that the builder changes. All of them are built before one is
	// encoded, and by one goroutine.
	groups := sync.OnceValues(func() (map[string]*spec3.OpenAPI, error) {
		return buildGroupDocuments(services, generic.OpenAPIV3Config)
	})
	for _, service := range services {
		out.v3.UpdateGroupVersionLazy(documentPath(service), cached.Once(cached.Func(func() (*spec3.OpenAPI, string, error) {
			documents, err := groups()
			return documents[documentPath(service)], "built-in", err
		})))
	}
	out.v3.register(mux)
	return out
}

// documentPath returns the path of the v3 document of a group and version, such as
// "apis/apps/v1".
func documentPath(service *restful.WebService) string {
	return strings.TrimPrefix(service.RootPath(), "/")
}

// buildGroupDocuments builds the v3 documents of all groups and versions, by path.
func buildGroupDocuments(services []*restful.WebService, config *common.OpenAPIV3Config) (map[string]*spec3.OpenAPI, error) {
	documents := make(map[string]*spec3.OpenAPI, len(services))
	for _, service := range services {
		document, err := buildGroupDocument(service, config)
		if err != nil {
			return nil, err
		}
		documents[documentPath(service)] = document
	}
	return documents, nil
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
