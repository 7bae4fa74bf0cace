package writes

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kube-openapi/pkg/common"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/managers"
)

// Config is what the endpoints of all kinds have in common. All fields are required.
type Config struct {
	Scheme     *runtime.Scheme
	Serializer runtime.NegotiatedSerializer
	Authorizer authorizer.UnconditionalAuthorizer
	Admission  admission.Interface
	Equivalent runtime.EquivalentResourceMapper
	// OpenAPI has the types of the kinds.
	OpenAPI *common.OpenAPIV3Config
	// MaxBody is the number of bytes of the largest body.
	MaxBody int64
	Sets    *managers.Sets
}

// Server has the endpoints.
type Server struct {
	Config
	// types are those of each kind, for all of its endpoints.
	types map[schema.GroupVersionKind]managedfields.TypeConverter
}

// NewServer returns a Server without endpoints.
func NewServer(c Config) *Server {
	c.Admission = admission.WithAudit(c.Admission)
	return &Server{Config: c, types: map[schema.GroupVersionKind]managedfields.TypeConverter{}}
}

// Methods are the methods of the routes of an endpoint.
func Methods() []string { return []string{http.MethodPut, http.MethodPatch} }

// Add returns the endpoint of a resource or of a subresource, as the installer of the library would set it up. It returns nil for one that cannot be
// patched and for a kind with deprecated versions, which the handler of the library warns about.
func (s *Server) Add(resource schema.GroupVersionResource, subresource string, namespaced bool, storage rest.Storage) (*Endpoint, error) {
	patcher, ok := storage.(rest.Patcher)
	if !ok {
		return nil, nil
	}
	kind, err := endpoints.GetResourceKind(resource.GroupVersion(), storage, s.Scheme)
	if err != nil {
		return nil, fmt.Errorf("kind of %s: %w", resource.Resource, err)
	}
	example, err := s.Scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("kind of %s: %w", resource.Resource, err)
	}
	if _, isDeprecated := example.(interface{ APILifecycleDeprecated() (major, minor int) }); isDeprecated {
		return nil, nil
	}
	if s.types[kind] == nil {
		s.types[kind] = managers.NewTypes(s.OpenAPI, example)
	}
	recorder, err := managers.New(managers.Config{
		Scheme: s.Scheme, Types: s.types[kind], Kind: kind, Subresource: subresource, Reset: resetFields(storage), Sets: s.Sets,
	})
	if err != nil {
		return nil, err
	}
	info, ok := runtime.SerializerInfoForMediaType(s.Serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		return nil, fmt.Errorf("kind of %s: no JSON", resource.Resource)
	}
	scope := s.scope(kind, resource, subresource, namespaced)
	scope.TableConvertor, _ = storage.(rest.TableConvertor)
	return &Endpoint{
		storage: patcher, scope: scope, admission: s.Admission, managers: recorder, clusterScoped: !namespaced,
		json: runtime.NewCodec(
			s.Serializer.EncoderForVersion(info.Serializer, kind.GroupVersion()), s.Serializer.DecoderToVersion(info.StrictSerializer, scope.HubGroupVersion)),
	}, nil
}

// scope describes an endpoint to the functions of the library.
func (s *Server) scope(kind schema.GroupVersionKind, resource schema.GroupVersionResource, subresource string, namespaced bool) *handlers.RequestScope {
	return &handlers.RequestScope{
		Namer:           handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !namespaced},
		Serializer:      s.Serializer,
		ParameterCodec:  runtime.NewParameterCodec(s.Scheme),
		Creater:         s.Scheme,
		Convertor:       s.Scheme,
		Defaulter:       s.Scheme,
		Typer:           s.Scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(s.Scheme),
		Authorizer:      s.Authorizer,

		EquivalentResourceMapper: s.Equivalent,

		Resource:            resource,
		Subresource:         subresource,
		Kind:                kind,
		HubGroupVersion:     schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal},
		MetaGroupVersion:    metav1.SchemeGroupVersion,
		MaxRequestBodyBytes: s.MaxBody,
	}
}

// resetFields returns filters for the fields that a write to the storage does not change.
func resetFields(storage rest.Storage) map[fieldpath.APIVersion]fieldpath.Filter {
	if filtered, ok := storage.(rest.ResetFieldsFilterStrategy); ok {
		return filtered.GetResetFieldsFilter()
	}
	if reset, ok := storage.(rest.ResetFieldsStrategy); ok {
		return fieldpath.NewExcludeFilterSetMap(reset.GetResetFields())
	}
	return nil
}
