package guard_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// countOf returns the value of a metric, zero if there is none.
func countOf(t *testing.T, request *http.Request, metric string) int {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, metric+" "); found {
			count, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return count
		}
	}
	return 0
}
