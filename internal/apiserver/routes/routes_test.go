package routes_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"

	"holdfast.dev/holdfast/internal/apiserver/routes"
)

// service returns a service with routes as "GET /pods/{name}", which take and return JSON, or YAML for the method PATCH.
func service(root string, list ...string) *restful.WebService {
	ws := new(restful.WebService).Path(root)
	for _, text := range list {
		method, path, _ := strings.Cut(text, " ")
		media := "application/json"
		if method == http.MethodPatch {
			media = "application/yaml"
		}
		ws.Route(ws.Method(method).Path(path).Consumes(media).Produces("application/json").Operation(root + text).
			To(func(*restful.Request, *restful.Response) {}))
	}
	return ws
}

func services() []*restful.WebService {
	return []*restful.WebService{
		service("/api", "GET /"),
		service("/api/v1", "GET /", "GET /pods", "GET /namespaces", "POST /namespaces", "GET /namespaces/{name}", "PUT /namespaces/{name}/status",
			"GET /namespaces/{namespace}/pods", "POST /namespaces/{namespace}/pods", "GET /namespaces/{namespace}/pods/{name}",
			"PATCH /namespaces/{namespace}/pods/{name}", "GET /namespaces/{namespace}/pods/{name}/proxy",
			"GET /namespaces/{namespace}/pods/{name}/proxy/{path:*}", "GET /watch/pods"),
		service("/apis"), service("/apis/apps", "GET /"),
		service("/apis/apps/v1", "GET /namespaces/{namespace}/pods", "DELETE /namespaces/{namespace}/pods/{name}"),
	}
}

// TestSelectRoute compares the routes of random requests with those that the router of go-restful selects. The Router gets each request
// twice, because it remembers the first answer.
func TestSelectRoute(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(from ...string) string { return from[random.IntN(len(from))] }
	router, found := routes.New(), 0
	list := services()
	for i := range 40_000 {
		if i == 20_000 {
			list = append(list, service("/api/v2", "GET /pods"))
		}
		path := one("/api/v1/namespaces/a/pods", "/api/v1", "/api", "/apis/apps/v1", "/apis", "")
		for range random.IntN(4) {
			path += "/" + one("api", "v1", "v2", "namespaces", "pods", "status", "proxy", "a", "b", "a:b", "{name}", "watch", "", "pods")
		}
		req := httptest.NewRequest(one("GET", "GET", "POST", "PUT", "PATCH", "DELETE"), "https://host/", nil)
		req.URL.Path = path
		req.Header.Set("Content-Type", one("application/json", "application/yaml", "text/plain", ""))
		req.Header.Set("Accept", one("application/json", "*/*", "text/plain", ""))
		want := operation(restful.CurlyRouter{}.SelectRoute(list, req))
		for range 2 {
			if got := operation(router.SelectRoute(list, req)); got != want {
				t.Fatalf("%s %s: %s, want %s", req.Method, path, got, want)
			}
		}
		if !strings.HasPrefix(want, "4") {
			found++
		}
	}
	if found < 2000 {
		t.Errorf("only %d requests have a route", found)
	}
}

// operation returns the service and the operation that were selected, or the error.
func operation(ws *restful.WebService, route *restful.Route, err error) string {
	if err != nil {
		return err.Error()
	}
	return ws.RootPath() + " " + route.Operation
}

// TestUnusualRoutes checks routes with conditions, regular expressions and verbs. For such services, the Router always asks the
// router of go-restful.
func TestUnusualRoutes(t *testing.T) {
	conditional := service("/c")
	conditional.Route(conditional.GET("/{name}").If(func(req *http.Request) bool { return req.URL.Query().Has("yes") }).
		Operation("conditional").To(func(*restful.Request, *restful.Response) {}))
	list := []*restful.WebService{conditional, service("/r", "GET /{id:[0-9]+}", "GET /{name}:start")}
	router := routes.New()
	for _, url := range []string{"/c/a?yes", "/c/a", "/c/b", "/c/b?yes", "/r/1", "/r/a", "/r/2", "/r/a:start", "/r/b:start", "/r/b"} {
		req := httptest.NewRequest(http.MethodGet, url, nil)
		want := operation(restful.CurlyRouter{}.SelectRoute(list, req))
		if got := operation(router.SelectRoute(list, req)); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func BenchmarkSelectRoute(b *testing.B) {
	list, router := services(), routes.New()
	req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/pods/web-0", nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := router.SelectRoute(list, req); err != nil {
			b.Fatal(err)
		}
	}
}
