package fieldownership_test

import (
	"net/url"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver/fieldownership"
)

// IsForced reads the parameter as the server does.
func TestIsForced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "force=true": true, "force=1": true, "force=True": true, "force=": true, "force": true,
		"force=false": false, "force=FALSE": false, "force=0": false, "force=true&force=false": true,
	} {
		query, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := fieldownership.IsForced(query); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
