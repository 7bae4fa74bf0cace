package custom

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/apiserver/custom/text"
	"holdfast.dev/holdfast/apiserver/fieldownership"
	"holdfast.dev/holdfast/definition"
)

// Config is what custom resources are served with. All of it is required but for
// what says otherwise.
type Config struct {
	// Definitions and DefinitionsStatus are the stores of the definitions.
	Definitions, DefinitionsStatus *genericregistry.Store
	// RESTOptions gives each resource its storage; the codec is brought here.
	RESTOptions generic.RESTOptionsGetter
	Admission   admission.Interface
	Authorizer  authorizer.UnconditionalAuthorizer
	// Services and WebhookAuth say how conversion webhooks are reached.
	Services    webhook.ServiceResolver
	WebhookAuth webhook.AuthenticationInfoResolverWrapper
	// Models are the OpenAPI models of ObjectMeta and Scale, and of all they refer
	// to.
	Models map[string]*spec.Schema
	// Groups and Aggregated are what /apis is answered from.
	Groups     discovery.GroupManager
	Aggregated aggregated.ResourceManager
	// Ownership checks who owns the fields that an update changes; nil checks nothing.
	Ownership *fieldownership.Checker
	// ImmutabilityStatus is the HTTP status of a change that a marker forbids:
	// 400, which is also the meaning of 0, or 422.
	ImmutabilityStatus int
	// MinWatch is the least time that a watch is kept open.
	MinWatch time.Duration
	// MaxBody bounds the body of a request; 0 is no limit.
	MaxBody int64
}

// Server serves custom resources and what says that they exist.
type Server struct {
	config     Config
	converters *conversion.CRConverterFactory
	codecs     serializer.CodecFactory
	scheme     *runtime.Scheme
	discovery  *discoveries
	openapi    *documents
	controller *controller
	// format is how all custom resources are written.
	format format

	// builtIn are the groups of built-in kinds, there once started.
	builtIn map[string]bool

	mu        sync.RWMutex
	resources map[schema.GroupResource]*resource
}

// New makes a server, which serves nothing before Start.
func New(config Config) (*Server, error) {
	converters, err := conversion.NewCRConverterFactory(config.Services, config.WebhookAuth)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, converters: converters, scheme: newScheme(), resources: map[schema.GroupResource]*resource{}, format: &text.JSON{}}
	s.codecs = serializer.NewCodecFactory(s.scheme)
	s.discovery = newDiscoveries(config.Groups, config.Aggregated, s.codecs)
	s.openapi = &documents{}
	s.controller = newController(s)
	return s, nil
}

// newScheme knows what is answered beside custom resources.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.WatchEvent{}, &metav1.APIVersions{}, &metav1.APIGroup{}, &metav1.APIGroupList{}, &metav1.APIResourceList{})
	return scheme
}

// ServeHTTP implements http.Handler for every path below /apis that no built-in
// kind has.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := genericapirequest.RequestInfoFrom(req.Context())
	if !ok {
		http.NotFound(w, req)
		return
	}
	if !info.IsResourceRequest {
		s.discovery.ServeHTTP(w, req)
		return
	}
	name := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	held := s.acquire(name)
	if held == nil {
		if held = s.await(req.Context(), name); held == nil {
			http.NotFound(w, req)
			return
		}
	}
	defer held.release()
	v := held.version(info)
	if v == nil {
		http.NotFound(w, req)
		return
	}
	if err := v.open(); err != nil {
		gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		responsewriters.ErrorNegotiated(apierrors.NewInternalError(err), s.codecs, gv, w, req)
		return
	}
	v.serve(w, req, info)
}

// acquire holds a served definition until release, nil if there is none.
func (s *Server) acquire(name schema.GroupResource) *resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	held := s.resources[name]
	if held != nil {
		held.holders.Add(1)
	}
	return held
}

// await holds a served definition that another server has just established, or
// that is about to be served here, until release. It is nil if there is none.
func (s *Server) await(ctx context.Context, name schema.GroupResource) *resource {
	obj, err := s.config.Definitions.Get(genericapirequest.WithNamespace(ctx, metav1.NamespaceNone), name.String(), &metav1.GetOptions{})
	if err != nil {
		// Whatever the reason, it is not served here.
		return nil
	}
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok || !isServed(crd) {
		return nil
	}
	s.controller.settle(ctx, crd)
	return s.acquire(name)
}

// Settle waits until requests to this server are judged by a definition that was
// just written, for a second at most.
func (s *Server) Settle(ctx context.Context, written *definition.CustomResourceDefinition) {
	s.controller.settle(ctx, written)
}

// Destroy closes all storage. No request may be under way.
func (s *Server) Destroy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, held := range s.resources {
		delete(s.resources, name)
		held.close()
	}
}
