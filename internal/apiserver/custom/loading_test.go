package custom_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/apiserver/custom"
)

// TestLoading checks that no path is reported as missing before the definitions are loaded.
func TestLoading(t *testing.T) {
	server, err := custom.New(custom.Config{Aggregated: aggregated.NewResourceManager("apis")})
	if err != nil {
		t.Fatal(err)
	}
	loaded := make(chan struct{})
	handler := genericapifilters.WithMuxAndDiscoveryComplete(server, loaded)
	status := func(path string, info *genericapirequest.RequestInfo) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		if info != nil {
			req = req.WithContext(genericapirequest.WithRequestInfo(req.Context(), info))
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		return answer
	}
	for path, info := range map[string]*genericapirequest.RequestInfo{
		"/apis/example.com":    {},
		"/apis/example.com/v1": {},
		"/apis/example.com/v1/widgets": {
			IsResourceRequest: true, Verb: "list", APIGroup: "example.com", APIVersion: "v1", Resource: "widgets",
		},
	} {
		answer := status(path, info)
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d, Retry-After %q", path, answer.Code, answer.Header().Get("Retry-After"))
		}
	}
	close(loaded)
	if answer := status("/apis/example.com/v1", &genericapirequest.RequestInfo{}); answer.Code != http.StatusNotFound {
		t.Errorf("after loading: %d", answer.Code)
	}
}

// TestUnknownResources checks that the server answers 404 for a resource without a definition,
// also if no definition can have the name.
func TestUnknownResources(t *testing.T) {
	for _, resource := range []string{"nothings", "100%25", "nothings%25/status"} {
		shared.must(t, http.StatusNotFound, "GET", "/apis/unknown.example.com/v1/namespaces/default/"+resource, "")
	}
}
