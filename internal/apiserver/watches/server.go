package watches

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
)

// logged is the level of verbosity at which the library logs the begin of a watch.
const logged = 3

// Server serves the watches of the resources that were added to it. All of them are added before it serves a request.
type Server struct {
	minTimeout time.Duration
	resources  map[schema.GroupVersionResource]*resource
}

// Codecs encode the objects of a group.
type Codecs struct {
	*runtime.Scheme
	Serializer runtime.NegotiatedSerializer
}

// resource is one resource in one version.
type resource struct {
	scope   *handlers.RequestScope
	watcher rest.Watcher
	// formats are the encodings by the media types of the library.
	formats map[string]*format
	// namespaced says that the objects are in namespaces.
	namespaced bool
}

func newServer(minTimeout time.Duration) *Server {
	return &Server{minTimeout: minTimeout, resources: map[schema.GroupVersionResource]*resource{}}
}

// Add adds the resource of a storage in one version. It leaves out a storage that cannot be watched, and a deprecated version, because the
// library sends warnings for it.
func (s *Server) Add(at schema.GroupVersionResource, storage rest.Storage, codecs Codecs) error {
	if s == nil {
		return nil
	}
	watcher, ok := storage.(rest.Watcher)
	if !ok {
		return nil
	}
	kind, err := kindOf(at.GroupVersion(), storage, codecs.Scheme)
	if err != nil {
		return err
	}
	versioned, err := codecs.New(kind)
	if err != nil {
		return fmt.Errorf("watches of %s: %w", at, err)
	}
	if _, ok := versioned.(interface{ APILifecycleDeprecated() (int, int) }); ok {
		return nil
	}
	tables, _ := storage.(rest.TableConvertor)
	scoper, ok := storage.(rest.Scoper)
	namespaced := ok && scoper.NamespaceScoped()
	s.resources[at] = &resource{watcher: watcher, namespaced: namespaced, formats: newFormats(codecs.Serializer, kind.GroupVersion()), scope: &handlers.RequestScope{
		Namer: handlers.ContextBasedNaming{}, Serializer: codecs.Serializer, Convertor: codecs.Scheme, TableConvertor: tables,
		Resource: at, Kind: kind, MetaGroupVersion: metav1.SchemeGroupVersion,
	}}
	return nil
}

// kindOf returns the kind of the objects of a storage in a version.
func kindOf(gv schema.GroupVersion, storage rest.Storage, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	kinds, _, err := scheme.ObjectKinds(storage.New())
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("kind of a storage of %s: %w", gv, err)
	}
	for _, kind := range kinds {
		if kind.Group == gv.Group {
			return gv.WithKind(kind.Kind), nil
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf("a storage of %s has objects of %s", gv, kinds)
}

// wrap serves the usual watches, and leaves all other requests to the next handler.
func (s *Server) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r := s.find(req); r == nil || !s.serve(r, w, req) {
			next.ServeHTTP(w, req)
		}
	})
}

// find returns the resource of a request to watch a collection.
func (s *Server) find(req *http.Request) *resource {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok || !info.IsResourceRequest || info.Verb != "watch" || req.Method != http.MethodGet || klog.V(logged).Enabled() {
		return nil
	}
	// The path of a collection has no part after the resource. The library has paths of its own for the watch of an object, and for watches
	// without a parameter.
	if len(info.Parts) != 1 || strings.Contains(req.URL.Path, "/watch/") {
		return nil
	}
	r := s.resources[schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}]
	if r == nil || info.Namespace != "" && !r.namespaced {
		return nil
	}
	return r
}

// serve opens a watch and sends its events until it ends. It returns false if the library must serve it.
func (s *Server) serve(r *resource, w http.ResponseWriter, req *http.Request) bool {
	watch, served := s.open(r, w, req)
	if watch != nil {
		watch.serve()
	}
	return served
}
