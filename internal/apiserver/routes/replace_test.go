package routes_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/emicklei/go-restful/v3"

	"holdfast.dev/holdfast/internal/apiserver/routes"
)

// TestReplace gives one route another function. The other routes keep theirs.
func TestReplace(t *testing.T) {
	answer := func(text string) restful.RouteFunction {
		return func(_ *restful.Request, res *restful.Response) { _, _ = res.Write([]byte(text)) }
	}
	service := new(restful.WebService).Path("/api/v1")
	service.Route(service.GET("/things/{name}").To(answer("get")))
	service.Route(service.PATCH("/things/{name}").To(answer("patch")))
	container, router := restful.NewContainer(), routes.New()
	container.Router(router)
	container.Add(service)
	around := func(inner restful.RouteFunction) restful.RouteFunction {
		return func(req *restful.Request, res *restful.Response) {
			answer("before ")(req, res)
			inner(req, res)
		}
	}
	if err := router.Replace(container, http.MethodPatch, "/api/v1/things/{name}", around); err != nil {
		t.Fatal(err)
	}
	if err := router.Replace(container, http.MethodPut, "/api/v1/things/{name}", around); err == nil {
		t.Error("a route that does not exist is replaced")
	}
	// The second request of a form takes the remembered route.
	for range 2 {
		for method, want := range map[string]string{http.MethodGet: "get", http.MethodPatch: "before patch"} {
			res := httptest.NewRecorder()
			container.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), method, "/api/v1/things/a", http.NoBody))
			if got := res.Body.String(); got != want {
				t.Errorf("%s answers %q, want %q", method, got, want)
			}
		}
	}
}
