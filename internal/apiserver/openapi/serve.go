package openapi

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"
	"k8s.io/klog/v2"
)

// ServeHTTP answers with the document, in an encoding that the client accepts.
func (d *Document) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	mediaType := d.negotiate(req)
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	if mediaType == "" {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	packed, err := d.encoded(mediaType)
	if err != nil {
		fail(w, req, err)
		return
	}
	hash, err := d.Hash()
	if err != nil {
		fail(w, req, err)
		return
	}
	w.Header().Set("Etag", strconv.Quote(hash))
	if wanted := req.URL.Query().Get("hash"); wanted != "" {
		if wanted != hash {
			http.Redirect(w, req, withHash(req.URL.Path, hash), http.StatusMovedPermanently)
			return
		}
		// The content of this URL never changes.
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).Format(time.RFC1123))
	}
	w.Header().Set("Content-Type", mediaType)
	if acceptsGzip(req) {
		w.Header().Set("Content-Encoding", "gzip")
	} else if packed, err = decompress(packed); err != nil {
		fail(w, req, err)
		return
	}
	http.ServeContent(w, req, "", d.changed, bytes.NewReader(packed))
}

// fail answers that the document cannot be built.
func fail(w http.ResponseWriter, req *http.Request, err error) {
	klog.ErrorS(err, "OpenAPI document cannot be built", "path", req.URL.Path)
	http.Error(w, "the OpenAPI document cannot be built: "+err.Error(), http.StatusInternalServerError)
}

// negotiate returns the media type for an answer. It is empty if the client accepts none.
func (d *Document) negotiate(req *http.Request) string {
	accept := req.Header.Get("Accept")
	if accept == "" {
		return jsonType
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		name := clause.Type + "/" + clause.SubType
		switch {
		case name == "*/*" || name == "application/*" || name == "*/json" || name == jsonType:
			return jsonType
		case slices.Contains(d.version.accepted, name):
			return d.version.protobuf
		}
	}
	return ""
}

// acceptsGzip reports whether a client can decompress an answer.
func acceptsGzip(req *http.Request) bool {
	for _, value := range req.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(value, ",") {
			name, parameter, _ := strings.Cut(coding, ";")
			if strings.TrimSpace(name) == "gzip" && strings.ReplaceAll(parameter, " ", "") != "q=0" {
				return true
			}
		}
	}
	return false
}

// withHash returns the URL of a document with its hash.
func withHash(path, hash string) string {
	u := url.URL{Path: path, RawQuery: url.Values{"hash": {hash}}.Encode()}
	return u.String()
}
