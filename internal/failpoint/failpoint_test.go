//go:build failpoints

package failpoint

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Each action takes effect as often as it says, and then the next one does.
func TestActions(t *testing.T) {
	for text, want := range map[string]string{
		"off":                               "....",
		"panic":                             "KKKK",
		"2*off->panic":                      "..KK",
		"1*panic":                           "K...",
		`1*off->2*return("no")->off`:        ".EE.",
		"1*return(no)->1*sleep(0)->1*panic": "E.K.",
	} {
		r, killed := newRegistry(), 0
		r.kill = func(string) { killed++ }
		if err := r.arm("a:b", text); err != nil {
			t.Fatal(err)
		}
		got := ""
		for range 4 {
			before := killed
			err := r.reach("a:b")
			switch {
			case killed > before:
				got += "K"
			case err != nil && err.Error() == "failpoint a:b: no":
				got += "E"
			default:
				got += "."
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A failpoint is armed and counted over HTTP, and a wrong action is refused.
func TestServe(t *testing.T) {
	r := newRegistry()
	server := httptest.NewServer(r.handler())
	defer server.Close()
	send := func(method, path, body string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	if code, _ := send(http.MethodPut, "/a:b", "explode"); code != http.StatusBadRequest {
		t.Errorf("a wrong action: %d", code)
	}
	if code, text := send(http.MethodPut, "/a:b", "return(no)"); code != http.StatusNoContent {
		t.Errorf("an action: %d %s", code, text)
	}
	if err := r.reach("a:b"); err == nil {
		t.Error("the armed failpoint returns no error")
	}
	if _, text := send(http.MethodGet, "/a:b/count", ""); text != "1" {
		t.Errorf("the count is %s", text)
	}
	send(http.MethodDelete, "/a:b", "")
	if err := r.reach("a:b"); err != nil {
		t.Errorf("the disarmed failpoint returns %v", err)
	}
}
