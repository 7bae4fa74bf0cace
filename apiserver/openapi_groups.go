package apiserver

import (
	"net/http"
	"strings"
	"sync"

	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/kube-openapi/pkg/cached"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
)

const openAPIV3 = "/openapi/v3"

// groupDocuments serves the OpenAPI v3 documents, one for each version of a group. An
// APIService may name a version that custom resources of this server have too. Requests go to the
// other server then, so its document is served. When that document is removed, the one of
// this server is served again.
type groupDocuments struct {
	service *handler3.OpenAPIService

	mu sync.Mutex
	// own and foreign are the documents of this server and of others, by path: apis/apps/v1.
	own, foreign map[string]cached.Value[*spec3.OpenAPI]
}

func newGroupDocuments() *groupDocuments {
	return &groupDocuments{
		service: handler3.NewOpenAPIService(),
		own:     map[string]cached.Value[*spec3.OpenAPI]{}, foreign: map[string]cached.Value[*spec3.OpenAPI]{},
	}
}

// UpdateGroupVersionLazy sets a document of this server.
func (d *groupDocuments) UpdateGroupVersionLazy(path string, document cached.Value[*spec3.OpenAPI]) {
	d.set(d.own, path, document)
}

// DeleteGroupVersion removes a document of this server.
func (d *groupDocuments) DeleteGroupVersion(path string) { d.set(d.own, path, nil) }

// set changes a document in one of the two maps; nil removes it.
func (d *groupDocuments) set(documents map[string]cached.Value[*spec3.OpenAPI], path string, document cached.Value[*spec3.OpenAPI]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if document == nil {
		delete(documents, path)
	} else {
		documents[path] = document
	}
	served := d.foreign[path]
	if served == nil {
		served = d.own[path]
	}
	if served == nil {
		d.service.DeleteGroupVersion(path)
	} else {
		d.service.UpdateGroupVersionLazy(path, served)
	}
}

func (d *groupDocuments) has(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.own[path] != nil || d.foreign[path] != nil
}

// register serves the list of the documents, and the documents.
func (d *groupDocuments) register(mux *mux.PathRecorderMux) {
	mux.HandleFunc(openAPIV3, d.service.HandleDiscovery)
	mux.HandlePrefix(openAPIV3+"/", http.HandlerFunc(d.serveDocument))
}

// serveDocument serves one document. For an unknown path the library answers 200 with an empty
// body. Like Kubernetes, serveDocument answers 404.
func (d *groupDocuments) serveDocument(w http.ResponseWriter, req *http.Request) {
	if d.has(strings.TrimPrefix(req.URL.Path, openAPIV3+"/")) {
		d.service.HandleGroupVersion(w, req)
		return
	}
	if !genericapifilters.NoMuxAndDiscoveryIncompleteKey(req.Context()) {
		// The server has not read all definitions yet.
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNotFound)
}
