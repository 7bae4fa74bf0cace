package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestBound reads at most as many objects of a list as the answer may have, whatever the client asks for.
func TestBound(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                      "limit=50&pretty=false",
		"limit=7":               "limit=7&pretty=false",
		"limit=0":               "limit=50&pretty=false",
		"limit=-1":              "limit=50&pretty=false",
		"limit=51":              "limit=50&pretty=false",
		"limit=all":             "limit=50&pretty=false",
		"limit=7&name=a&b=c":    "b=c&limit=7&pretty=false",
		"continue=x&pretty=yes": "continue=x&limit=50&pretty=false",
	} {
		got := ""
		next := http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { got = req.URL.RawQuery })
		readList(next, httptest.NewRequest(http.MethodGet, "/api/v1/pods?"+query, http.NoBody), "application/json", 50, "name")
		if got != want {
			t.Errorf("%s: the server reads %s, want %s", query, got, want)
		}
	}
}

// TestOverviewBound reads a list in parts: few objects at a time, as many as the client asks for, and no further after some bytes.
func TestOverviewBound(t *testing.T) {
	t.Parallel()
	const stored = 1200
	for name, each := range map[string]struct {
		query       string
		size, looks int
		next        string
	}{
		"small objects":      {"", 10, maxLooked, "500"},
		"a limit":            {"limit=120", 10, 120, "120"},
		"a limit above":      {"limit=100000", 10, maxLooked, "500"},
		"the end":            {"continue=1150", 10, 50, ""},
		"large objects":      {"", 1 << 20, maxTogether, "50"},
		"objects of 100 KiB": {"", 100 << 10, 2 * maxTogether, "100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := `{"metadata":{"name":"` + strings.Repeat("a", each.size) + `"}}`
			next := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				limit, err := strconv.Atoi(req.URL.Query().Get("limit"))
				if err != nil || limit > maxTogether {
					t.Errorf("the server reads %s at a time", req.URL.Query().Get("limit"))
				}
				from, _ := strconv.Atoi(req.URL.Query().Get("continue")) // none is 0
				to, more := min(from+limit, stored), ""
				if to < stored {
					more = strconv.Itoa(to)
				}
				items := strings.TrimSuffix(strings.Repeat(item+",", to-from), ",")
				_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ServiceList","metadata":{"continue":%q},"items":[%s]}`, more, items)
			})
			req := httptest.NewRequest(http.MethodGet, "/api/v1/services?"+each.query, http.NoBody)
			info := &request.RequestInfo{IsResourceRequest: true, Verb: "list", APIVersion: "v1", Resource: "services"}
			answer := httptest.NewRecorder()
			(&Reports{}).answerOverview(next, answer, req.WithContext(request.WithRequestInfo(req.Context(), info)))
			var got Overview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.Looked != each.looks || got.Continue != each.next {
				t.Errorf("%v: looked at %d objects, goes on at %q, want %d and %q", err, got.Looked, got.Continue, each.looks, each.next)
			}
		})
	}
}

// TestRulesOf finds the rules beside a field: its own, and those above it that refuse every change, if no free field is between.
func TestRulesOf(t *testing.T) {
	t.Parallel()
	r := Report{Locks: []Lock{
		{Field: ".spec", Rule: "every change is refused", Why: "a marker"},
		{Field: ".spec.free", Rule: "may change", Why: "a marker", Free: true},
		{Field: ".spec.free.keys", Rule: "adding keys is refused", Why: "a marker", Warns: true},
		{Field: ".spec.absent", Rule: "every change is refused", Why: "a marker", Absent: true},
	}}
	for name, want := range map[string][]string{
		".spec":             {"every change is refused: a marker"},
		".spec.hull":        {"every change is refused, as of .spec: a marker"},
		".spec[0].hull":     {"every change is refused, as of .spec: a marker"},
		".specs":            nil,
		".spec.free":        nil,
		".spec.free.any":    nil,
		".spec.free.keys":   {"adding keys is refused: a marker. The server only warns"},
		".spec.free.keys.a": nil,
		".metadata":         nil,
	} {
		got := r.rulesOf(name)
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%s: rules %q, want %q", name, got, want)
		}
	}
}
