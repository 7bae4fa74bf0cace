package applied

import (
	"fmt"

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
}

// New returns the endpoint of a resource, as the installer of the library would set it up. It returns nil for a resource that cannot be patched and for one
// with deprecated versions, which the handler of the library warns about.
func New(c Config, resource schema.GroupVersionResource, storage rest.Storage) (*Endpoint, error) {
	patcher, ok := storage.(rest.Patcher)
	scoper, isScoper := storage.(rest.Scoper)
	if !ok || !isScoper {
		return nil, nil
	}
	kind, err := endpoints.GetResourceKind(resource.GroupVersion(), storage, c.Scheme)
	if err != nil {
		return nil, fmt.Errorf("kind of %s: %w", resource.Resource, err)
	}
	example, err := c.Scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("kind of %s: %w", resource.Resource, err)
	}
	if _, isDeprecated := example.(interface{ APILifecycleDeprecated() (major, minor int) }); isDeprecated {
		return nil, nil
	}
	scope := &handlers.RequestScope{
		Namer:           handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor()), ClusterScoped: !scoper.NamespaceScoped()},
		Serializer:      c.Serializer,
		ParameterCodec:  runtime.NewParameterCodec(c.Scheme),
		Creater:         c.Scheme,
		Convertor:       c.Scheme,
		Defaulter:       c.Scheme,
		Typer:           c.Scheme,
		UnsafeConvertor: runtime.UnsafeObjectConvertor(c.Scheme),
		Authorizer:      c.Authorizer,

		EquivalentResourceMapper: c.Equivalent,

		Resource:            resource,
		Kind:                kind,
		HubGroupVersion:     schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal},
		MetaGroupVersion:    metav1.SchemeGroupVersion,
		MaxRequestBodyBytes: c.MaxBody,
	}
	scope.FieldManager, err = managedfields.NewDefaultFieldManager(
		newTypes(c.OpenAPI, example), scope.UnsafeConvertor, scope.Defaulter, scope.Creater, kind, scope.HubGroupVersion, "", resetFields(storage))
	if err != nil {
		return nil, fmt.Errorf("field manager of %s: %w", resource.Resource, err)
	}
	return &Endpoint{storage: patcher, scope: scope, admission: admission.WithAudit(c.Admission), clusterScoped: !scoper.NamespaceScoped()}, nil
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
