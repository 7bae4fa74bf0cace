package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/handler3"
)

// PathV3 is the path of the list of documents. The documents have paths below it.
const PathV3 = "/openapi/v3"

// Documents are the documents of OpenAPI version 3, by path, such as apis/apps/v1. It is safe for
// concurrent use.
type Documents struct {
	mu        sync.Mutex
	documents map[string]*Document
}

// NewDocuments returns an empty set of documents.
func NewDocuments() *Documents { return &Documents{documents: map[string]*Document{}} }

// Set adds or replaces a document.
func (d *Documents) Set(path string, document *Document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.documents[path] = document
}

// Remove removes a document.
func (d *Documents) Remove(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.documents, path)
}

// Of returns the document that a request asks for, or nil.
func (d *Documents) Of(req *http.Request) *Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.documents[strings.TrimPrefix(req.URL.Path, PathV3+"/")]
}

// ServeList answers with the paths of all documents and their hashes.
func (d *Documents) ServeList(w http.ResponseWriter, req *http.Request) {
	list, err := d.list()
	if err != nil {
		klog.ErrorS(err, "OpenAPI documents cannot be listed")
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Etag", strconv.Quote(Hash(list)))
	w.Header().Set("Content-Type", jsonType)
	// The entity tag says whether the list has changed, and there is no time of its last change.
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(list))
}

func (d *Documents) list() ([]byte, error) {
	d.mu.Lock()
	documents := maps.Clone(d.documents)
	d.mu.Unlock()
	list := handler3.OpenAPIV3Discovery{Paths: make(map[string]handler3.OpenAPIV3DiscoveryGroupVersion, len(documents))}
	for path, document := range documents {
		hash, err := document.Hash()
		if err != nil {
			return nil, fmt.Errorf("the OpenAPI document %s cannot be built: %w", path, err)
		}
		list.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: withHash(PathV3+"/"+path, hash)}
	}
	return json.Marshal(list)
}
