package custom

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/cacheaudit"
	"holdfast.dev/holdfast/internal/apiserver/custom/ahead"
	"holdfast.dev/holdfast/internal/apiserver/custom/answer"
	"holdfast.dev/holdfast/internal/apiserver/custom/documents"
	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/apiserver/custom/kept"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/served"
	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
	"holdfast.dev/holdfast/internal/apiserver/policies"
	"holdfast.dev/holdfast/internal/definition"
)

// Config configures a Server. All fields are required unless their comment says
// otherwise.
type Config struct {
	// Definitions and DefinitionsStatus are the stores of the definitions.
	Definitions, DefinitionsStatus *genericregistry.Store
	// RESTOptions gives each resource its storage. This package replaces the codec.
	RESTOptions generic.RESTOptionsGetter
	Admission   admission.Interface
	Authorizer  authorizer.UnconditionalAuthorizer
	// Services and WebhookAuth are used to call conversion webhooks.
	Services    webhook.ServiceResolver
	WebhookAuth webhook.AuthenticationInfoResolverWrapper
	// Models are the OpenAPI models of ObjectMeta and Scale, and all models that these
	// refer to.
	Models map[string]*spec.Schema
	// Groups and Aggregated hold the discovery documents for /apis.
	Groups     discovery.GroupManager
	Aggregated aggregated.ResourceManager
	// Registered is called with the served versions of a group after every change of its
	// definitions. It is optional.
	Registered func(group string, versions []string)
	// Ownership checks whether an update changes fields of other owners. It is optional.
	Ownership *fieldownership.Checker
	// ImmutabilityStatus is the HTTP status of the answer to a change that a marker
	// forbids: 400 or 422. The default is 400.
	ImmutabilityStatus int
	// Policies has the rules of ImmutabilityPolicies. It is optional.
	Policies *policies.Rules
	// Keep returns an error if an object must not be deleted, although its definition is being deleted. It is optional.
	Keep func(ctx context.Context, resource schema.GroupVersionResource, obj runtime.Object) error
	// Revision identifies the source of the program, see apiserver.Config. It is optional.
	Revision string
	// MinWatch is the shortest time that the server keeps a watch open.
	MinWatch time.Duration
	// MaxBody bounds the body of a request. Zero means no limit.
	MaxBody int64
}

// Server serves custom resources, their discovery and their OpenAPI documents.
type Server struct {
	config    Config
	codecs    serializer.CodecFactory
	discovery *discoveryHandler
	// notFound answers 404, or 503 while the definitions are loaded.
	notFound   *notfoundhandler.Handler
	openapi    *documents.Documents
	controller *controller
	// resource is the configuration of all resources, and sets keeps the sets of fields that managers own.
	resource served.Config
	sets     *fieldset.Sets
	// meters count compiled definitions.
	meters meters

	// ahead bounds what the server compiles before the first request needs it, and loaded is set when the definitions are served that the
	// server found when it started.
	ahead  *ahead.Budget
	loaded atomic.Bool
	// builtIn holds the groups of built-in kinds. Start sets it.
	builtIn map[string]bool

	mu        sync.RWMutex
	resources map[schema.GroupResource]*served.Resource
}

// New creates a server. It serves nothing before Start.
func New(config Config) (*Server, error) {
	converters, err := conversion.NewCRConverterFactory(config.Services, config.WebhookAuth)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, resources: map[schema.GroupResource]*served.Resource{}, meters: newMeters(), ahead: ahead.New()}
	scheme := newScheme()
	s.codecs = serializer.NewCodecFactory(scheme)
	s.notFound = notfoundhandler.New(s.codecs, genericapifilters.NoMuxAndDiscoveryIncompleteKey)
	sets, format := fieldset.New()
	s.sets = sets
	s.resource = served.Config{
		Kinds:       kind.Config{Converters: converters, Models: config.Models, Sets: sets, Observe: s.meters.observe},
		RESTOptions: config.RESTOptions, Admission: config.Admission, Authorizer: config.Authorizer, Ownership: config.Ownership,
		Policies:           config.Policies,
		ImmutabilityStatus: config.ImmutabilityStatus, MinWatch: config.MinWatch, MaxBody: config.MaxBody,
		Format: format, Answers: answer.NewShared(format, scheme), Trees: kept.New(), Scheme: scheme, Codecs: s.codecs,
	}
	s.resource.BeginWrite, s.resource.AwaitChange, s.resource.Anew = s.beginWrite, s.awaitChange, s.ServeHTTP
	s.discovery = newDiscoveryHandler(config.Groups, config.Aggregated, s.codecs, s.notFound)
	s.openapi = &documents.Documents{}
	s.controller = newController(s)
	return s, nil
}

// newScheme returns a scheme with the types of answers that are not custom resources.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1, &metav1.Status{}, &metav1.WatchEvent{},
		&metav1.APIVersions{}, &metav1.APIGroup{}, &metav1.APIGroupList{}, &metav1.APIResourceList{})
	return scheme
}

// ServeHTTP implements http.Handler for all paths below /apis that do not belong to
// built-in kinds.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := genericapirequest.RequestInfoFrom(req.Context())
	if !ok {
		s.notFound.ServeHTTP(w, req)
		return
	}
	if !info.IsResourceRequest {
		s.discovery.ServeHTTP(w, req)
		return
	}
	r, err := s.find(req.Context(), schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
	if err != nil {
		responsewriters.ErrorNegotiated(err, s.codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, req)
		return
	}
	if r == nil {
		s.notFound.ServeHTTP(w, req)
		return
	}
	defer r.Release()
	v := r.Version(info)
	if v == nil {
		s.notFound.ServeHTTP(w, req)
		return
	}
	if err := v.OpenFor(info.Verb); err != nil {
		gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		responsewriters.ErrorNegotiated(apierrors.NewInternalError(err), s.codecs, gv, w, req)
		return
	}
	v.Serve(w, req, info)
}

// acquire returns the resource with a name, or nil. The caller releases it, and its
// storage stays open until then.
func (s *Server) acquire(name schema.GroupResource) *served.Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.resources[name]
	if r != nil {
		r.Acquire()
	}
	return r
}

// find is acquire for a resource that this server may not serve yet: it is loading the
// definitions, or another server established this one a moment ago. It returns nil if there
// is no such definition, and an error if it cannot tell: a controller must not believe that
// its objects are gone.
func (s *Server) find(ctx context.Context, name schema.GroupResource) (*served.Resource, error) {
	if r := s.acquire(name); r != nil || !genericapifilters.NoMuxAndDiscoveryIncompleteKey(ctx) {
		return r, nil
	}
	obj, err := s.config.Definitions.Get(genericapirequest.WithNamespace(ctx, metav1.NamespaceNone), name.String(), &metav1.GetOptions{})
	// Get answers 400 for a name that a path can have and a definition cannot, such as one with
	// a percent sign.
	if apierrors.IsNotFound(err) || apierrors.IsBadRequest(err) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(fmt.Sprintf("the definition of %s cannot be read: %v", name, err))
	}
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok || !kind.IsEstablished(crd) {
		return nil, nil
	}
	s.controller.settle(ctx, crd)
	r := s.acquire(name)
	if r == nil {
		return nil, unavailable(fmt.Sprintf("this server does not serve %s yet", name))
	}
	return r, nil
}

// Has reports whether the server has the definition of a resource and serves it.
func (s *Server) Has(name schema.GroupResource) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.resources[name] != nil
}

// Definition returns the definition of a resource that the server serves, nil if it serves none.
func (s *Server) Definition(name schema.GroupResource) *definition.CustomResourceDefinition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.resources[name]; r != nil {
		return r.CRD
	}
	return nil
}

// Compiled returns the compiled versions of a definition, by name, if the server has compiled them for requests. It returns nil if it has
// not, or if it serves another state of the definition that treats objects differently. It compiles nothing.
func (s *Server) Compiled(crd *definition.CustomResourceDefinition) map[string]*definition.Compiled {
	s.mu.RLock()
	r := s.resources[kind.ResourceOf(crd)]
	s.mu.RUnlock()
	if r == nil || !r.IsCompiled() || !r.Serves(crd) {
		return nil
	}
	versions := make(map[string]*definition.Compiled, len(r.Versions))
	for name, v := range r.Versions {
		versions[name] = v.Compiled
	}
	return versions
}

// Definitions returns the informer that delivers the definitions to this server. Start runs it.
func (s *Server) Definitions() cache.SharedIndexInformer { return s.controller.informer }

// OnFirstObject makes the server call a function with the name of a definition after each write of an object of it, while the definition
// does not have the condition StoredObjectsValid. The function must not block. Call OnFirstObject before Start.
func (s *Server) OnFirstObject(do func(definition string)) { s.resource.FirstObject = do }

// StorageVersion returns the version that the objects of a resource are stored in. It is empty
// if the server does not serve that version, or does not have the resource.
func (s *Server) StorageVersion(name schema.GroupResource) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.resources[name]; r != nil && r.Storage().Spec.Served {
		return r.Storage().Name
	}
	return ""
}

// unavailable returns an error with status 503 after which clients try again.
func unavailable(message string) error {
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}

// Settle waits until this server serves a definition as it was just written. It gives
// up after settleTimeout.
func (s *Server) Settle(ctx context.Context, written *definition.CustomResourceDefinition) {
	s.controller.settle(ctx, written)
}

// Destroy closes all storage. The caller makes sure that no request is under way.
func (s *Server) Destroy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, r := range s.resources {
		delete(s.resources, name)
		r.Close()
	}
}

// Collectors returns the metrics about the definitions of this server.
func (s *Server) Collectors() []prometheus.Collector { return s.meters.collectors(s.count) }

// Caches returns the caches of custom resources, for metrics.
func (s *Server) Caches() []bounded.Measured {
	caches := append(s.resource.Trees.Caches(), s.sets.Caches()...)
	return append(caches, s.resource.Answers.Caches()...)
}

// Audited returns the caches of custom resources for an audit, which reads objects from their origin.
func (s *Server) Audited(origin answer.Origin) []cacheaudit.Cache {
	caches := append(s.resource.Trees.Audited(), s.sets.Audited()...)
	return append(caches, s.resource.Answers.Audited(origin)...)
}

// count returns how many definitions are served, and how many of them are compiled.
func (s *Server) count() (served, compiled int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.resources {
		if r.IsCompiled() {
			compiled++
		}
	}
	return len(s.resources), compiled
}
