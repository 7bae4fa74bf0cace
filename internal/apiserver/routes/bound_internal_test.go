package routes

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"
)

// A Router does not remember a long form. A client could fill the memory with long media types.
func TestLongForms(t *testing.T) {
	service := new(restful.WebService).Path("/api").Produces("application/json")
	service.Route(service.GET("/pods").To(func(*restful.Request, *restful.Response) {}))
	services, router := []*restful.WebService{service}, New()
	for length, remembered := range map[int]int{10: 1, maxForm: 0} {
		router.known.Store(nil)
		req := httptest.NewRequest(http.MethodGet, "/api/pods", nil)
		req.Header.Set("Accept", "application/json, text/"+strings.Repeat("x", length))
		if _, _, err := router.SelectRoute(services, req); err != nil {
			t.Fatal(err)
		}
		if got := len(router.known.Load().routes); got != remembered {
			t.Errorf("a media type of %d bytes: %d forms are remembered, want %d", length, got, remembered)
		}
	}
}
