package console

import (
	"net/http"
	"net/http/httptest"
	"testing"
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
