package apiserver

import (
	"net/http"
	"sync"
	"sync/atomic"

	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/server/mux"

	"holdfast.dev/holdfast/internal/apiserver/openapi"
)

// documents serves the OpenAPI documents: one of version 2, and one of version 3 for each version of a
// group. An APIService may name a version that custom resources of this server have too. Requests
// go to the other server then, so its document is served. When that document is removed, the one of
// this server is served again.
type documents struct {
	v2 atomic.Pointer[openapi.Document]
	v3 *openapi.Documents

	mu sync.Mutex
	// own and foreign are the documents of this server and of others, by path: apis/apps/v1.
	own, foreign map[string]*openapi.Document
}

func newDocuments() *documents {
	return &documents{v3: openapi.NewDocuments(), own: map[string]*openapi.Document{}, foreign: map[string]*openapi.Document{}}
}

// SetV2 implements documents.Publisher.
func (d *documents) SetV2(document *openapi.Document) { d.v2.Store(document) }

// SetV3 implements documents.Publisher.
func (d *documents) SetV3(path string, document *openapi.Document) { d.set(d.own, path, document) }

// RemoveV3 implements documents.Publisher.
func (d *documents) RemoveV3(path string) { d.set(d.own, path, nil) }

// set changes a document in one of the two maps; nil removes it.
func (d *documents) set(documents map[string]*openapi.Document, path string, document *openapi.Document) {
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
		d.v3.Remove(path)
	} else {
		d.v3.Set(path, served)
	}
}

// register serves the documents, and the list of those of version 3.
func (d *documents) register(mux *mux.PathRecorderMux) {
	mux.HandleFunc("/openapi/v2", func(w http.ResponseWriter, req *http.Request) { d.v2.Load().ServeHTTP(w, req) })
	mux.HandleFunc(openapi.PathV3, d.v3.ServeList)
	mux.HandlePrefix(openapi.PathV3+"/", http.HandlerFunc(d.serveV3))
}

// serveV3 serves one document of version 3.
func (d *documents) serveV3(w http.ResponseWriter, req *http.Request) {
	if document := d.v3.Of(req); document != nil {
		document.ServeHTTP(w, req)
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
