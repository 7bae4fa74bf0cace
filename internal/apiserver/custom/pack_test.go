package custom_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/internal/waittest"
)

// A long LIST is compressed for a client that accepts gzip, and has the same text as without
// compression.
func TestListsAreCompressed(t *testing.T) {
	const group = "packed.example.com"
	define(t, group, "{type: object, properties: {note: {type: string}}}")
	path := "/apis/" + group + "/v1/namespaces/default/things"
	for n := range 5 {
		shared.must(t, http.StatusCreated, "POST", path, noted(group, n, strings.Repeat(fmt.Sprint("note ", n), 8<<10)))
	}
	tests := map[string]struct {
		query, accept, encoding, want string
	}{
		"long":             {encoding: "gzip", want: "gzip"},
		"one of several":   {encoding: "deflate, gzip", want: "gzip"},
		"not accepted":     {encoding: "deflate"},
		"first page":       {query: "&limit=4", encoding: "gzip", want: "gzip"},
		"short":            {query: "&limit=1", encoding: "gzip"},
		"empty":            {query: "&labelSelector=none", encoding: "gzip"},
		"with indentation": {query: "&pretty=true", encoding: "gzip", want: "gzip"},
		"as YAML":          {accept: "application/yaml", encoding: "gzip", want: "gzip"},
	}
	check := func(t *testing.T) {
		t.Helper()
		// Other writes raise the resourceVersion of a list, unless the client asks for one.
		at := shared.must(t, http.StatusOK, "GET", path+"?limit=1", "").GetResourceVersion()
		for name, test := range tests {
			path := path + "?resourceVersionMatch=Exact&resourceVersion=" + at + test.query
			plain := read(t, path, test.accept, "identity")
			// The second time, the compressed texts are cached.
			for range 2 {
				got := read(t, path, test.accept, test.encoding)
				if got.encoding != test.want {
					t.Errorf("%s: content encoding %q, want %q", name, got.encoding, test.want)
				}
				if diff := cmp.Diff(plain.body, got.body); diff != "" {
					t.Errorf("%s (-plain +compressed):\n%.2000s", name, diff)
				}
			}
		}
	}
	check(t)
	shared.must(t, http.StatusOK, merge, path+"/n2", "{spec: {note: <&> \"changed\" äöü}}")
	shared.must(t, http.StatusCreated, "POST", path, noted(group, 5, strings.Repeat("x", 200<<10)))
	check(t)
}

func noted(group string, n int, note string) string {
	return fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: n%d}, spec: {note: %q}}", group, n, note)
}

// received is the body of an answer without compression, and the name of the compression.
type received struct{ body, encoding string }

// get sends a GET request, again while the server answers 429, see client.do. The caller closes the
// body of the answer.
func get(t *testing.T, path, accept, encoding string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", encoding)
	var res *http.Response
	waittest.Until(t, path+" is answered", func() bool {
		if res, err = shared.http.Do(req); err != nil { //nolint:bodyclose // the caller closes it
			t.Fatal(err)
		}
		if res.StatusCode == http.StatusTooManyRequests {
			_ = res.Body.Close()
			return false
		}
		return true
	})
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		t.Fatalf("%s: %s", path, res.Status)
	}
	return res
}

func read(t *testing.T, path, accept, encoding string) received {
	t.Helper()
	res := get(t, path, accept, encoding)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	got := received{body: string(body), encoding: res.Header.Get("Content-Encoding")}
	if got.encoding == "gzip" {
		if vary := strings.Join(res.Header.Values("Vary"), ","); !strings.Contains(vary, "Accept-Encoding") {
			t.Errorf("%s: Vary is %q", path, vary)
		}
		got.body = unzip(t, body)
	}
	return got
}

// unzip accepts one gzip member with nothing after it. Some clients read no more than one.
func unzip(t *testing.T, data []byte) string {
	t.Helper()
	from := bufio.NewReader(bytes.NewReader(data))
	member, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	member.Multistream(false)
	text, err := io.ReadAll(member)
	if err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("%d bytes follow the compressed answer", len(rest))
	}
	return string(text)
}
