package openapi_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/handler3"

	"holdfast.dev/holdfast/internal/apiserver/openapi"
	"holdfast.dev/holdfast/internal/yamltest"
)

const document = `{"openapi":"3.0.0","info":{"title":"Boats","version":"v1"},"paths":{}}`

// builder counts how often it builds a document.
type builder struct {
	times int
	err   error
}

func (b *builder) build() ([]byte, error) {
	b.times++
	return []byte(document), b.err
}

func identified() string { return "ABC" }

// answer is the answer to a request.
type answer struct {
	code   int
	header http.Header
	body   *bytes.Buffer
}

func get(handler http.Handler, path string, header ...string) answer {
	req := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	return answer{w.Code, w.Header(), w.Body}
}

func body(t *testing.T, res answer) string {
	t.Helper()
	reader := io.Reader(res.body)
	if res.header.Get("Content-Encoding") == "gzip" {
		var err error
		if reader, err = gzip.NewReader(res.body); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEncodings checks which encoding a client gets, and that the document is built only once.
func TestEncodings(t *testing.T) {
	t.Parallel()
	protobuf, err := handler3.ToV3ProtoBinary([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	const v3 = "application/com.github.proto-openapi.spec.v3"
	b := &builder{}
	d := openapi.NewV3(nil, b.build)
	for name, test := range map[string]struct {
		header            []string
		wantType, content string
		wantEncoding      string
	}{
		"nothing accepted": {wantType: "application/json", content: document},
		"anything":         {header: []string{"Accept", "*/*"}, wantType: "application/json", content: document},
		"JSON":             {header: []string{"Accept", "application/json"}, wantType: "application/json", content: document},
		"protobuf":         {header: []string{"Accept", v3 + "@v1.0+protobuf"}, wantType: v3 + ".v1.0+protobuf", content: string(protobuf)},
		"better protobuf": {
			header:   []string{"Accept", "application/json;q=0.5," + v3 + ".v1.0+protobuf"},
			wantType: v3 + ".v1.0+protobuf", content: string(protobuf),
		},
		"compressed": {
			header:   []string{"Accept-Encoding", "br, gzip;q=0.8"},
			wantType: "application/json", content: document, wantEncoding: "gzip",
		},
		"compression refused": {header: []string{"Accept-Encoding", "gzip;q=0"}, wantType: "application/json", content: document},
	} {
		t.Run(name, func(t *testing.T) {
			res := get(d, "/openapi/v3/apis/boats/v1", test.header...)
			if got := res.header.Get("Content-Type"); res.code != http.StatusOK || got != test.wantType {
				t.Errorf("%d, Content-Type %s, want %s", res.code, got, test.wantType)
			}
			if got := res.header.Get("Content-Encoding"); got != test.wantEncoding {
				t.Errorf("Content-Encoding %q, want %q", got, test.wantEncoding)
			}
			if got := body(t, res); got != test.content {
				t.Errorf("body %q, want %q", got, test.content)
			}
		})
	}
	if res := get(d, "/", "Accept", "text/html"); res.code != http.StatusNotAcceptable {
		t.Errorf("text/html: %d", res.code)
	}
	if b.times != 1 {
		t.Errorf("the document was built %d times", b.times)
	}
}

// TestHash checks what the hash in a URL does.
func TestHash(t *testing.T) {
	t.Parallel()
	b := &builder{}
	d := openapi.NewV3(identified, b.build)
	const path = "/openapi/v3/apis/boats/v1"
	res := get(d, path+"?hash=OLD")
	if res.code != http.StatusMovedPermanently || res.header.Get("Location") != path+"?hash=ABC" {
		t.Errorf("another hash: %d to %s", res.code, res.header.Get("Location"))
	}
	res = get(d, path+"?hash=ABC")
	if res.code != http.StatusOK || !strings.Contains(res.header.Get("Cache-Control"), "immutable") {
		t.Errorf("the hash: %d, Cache-Control %s", res.code, res.header.Get("Cache-Control"))
	}
	if res := get(d, path); res.header.Get("Etag") != `"ABC"` || res.header.Get("Cache-Control") != "" {
		t.Errorf("no hash: Etag %s, Cache-Control %s", res.header.Get("Etag"), res.header.Get("Cache-Control"))
	}
	if res := get(d, path, "If-None-Match", `"ABC"`); res.code != http.StatusNotModified {
		t.Errorf("known entity tag: %d", res.code)
	}
}

// TestList checks that the list of documents has their hashes, and builds only documents that
// have none.
func TestList(t *testing.T) {
	t.Parallel()
	known, unknown := &builder{}, &builder{}
	documents := openapi.NewDocuments()
	documents.Set("apis/boats/v1", openapi.NewV3(identified, known.build))
	documents.Set("apis/cars/v1", openapi.NewV3(nil, unknown.build))
	documents.Set("apis/gone/v1", openapi.NewV3(nil, unknown.build))
	documents.Remove("apis/gone/v1")
	res := get(http.HandlerFunc(documents.ServeList), openapi.PathV3)
	list := *yamltest.Known[handler3.OpenAPIV3Discovery](t, body(t, res))
	want := map[string]string{"apis/boats/v1": "ABC", "apis/cars/v1": openapi.Hash([]byte(document))}
	if len(list.Paths) != len(want) {
		t.Errorf("the list has %d paths, want %d", len(list.Paths), len(want))
	}
	for path, hash := range want {
		if got := list.Paths[path].ServerRelativeURL; got != openapi.PathV3+"/"+path+"?hash="+hash {
			t.Errorf("%s: %s", path, got)
		}
	}
	if known.times != 0 || unknown.times != 1 {
		t.Errorf("built %d and %d times, want 0 and 1", known.times, unknown.times)
	}
	req := httptest.NewRequest(http.MethodGet, openapi.PathV3+"/apis/boats/v1", nil)
	if documents.Of(req) == nil || documents.Of(httptest.NewRequest(http.MethodGet, openapi.PathV3+"/apis/gone/v1", nil)) != nil {
		t.Error("a document is not found by its path, or a removed one is")
	}
}

// TestFailure checks that a document that cannot be built is tried again.
func TestFailure(t *testing.T) {
	t.Parallel()
	b := &builder{err: errors.New("no schema")}
	d := openapi.NewV2(b.build)
	if res := get(d, "/openapi/v2"); res.code != http.StatusInternalServerError || !strings.Contains(body(t, res), "no schema") {
		t.Errorf("document that cannot be built: %d", res.code)
	}
	b.err = nil
	if res := get(d, "/openapi/v2"); res.code != http.StatusOK {
		t.Errorf("document that can be built again: %d", res.code)
	}
}
