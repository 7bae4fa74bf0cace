package apiserver

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
)

// transport answers requests in place of a connection.
type transport func(*http.Request) *http.Response

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req), nil }

// TestOperatorKindsAreNotAskedForTooEarly holds that the start sends no request that the server answers with
// "try again in 5 seconds".
func TestOperatorKindsAreNotAskedForTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		client, err := dynamic.NewForConfig(&restclient.Config{Transport: transport(func(*http.Request) *http.Response {
			sent.Add(1)
			answer := httptest.NewRecorder()
			answer.Header().Set("Content-Type", "application/json")
			_, _ = answer.WriteString(`{"apiVersion":"kudo.dev/v1beta1","kind":"List","items":[]}`)
			return answer.Result()
		})})
		if err != nil {
			t.Fatal(err)
		}
		read, done := make(chan struct{}), make(chan error)
		go func() { done <- waitForOperatorKinds(t.Context(), client, read) }()
		synctest.Wait()
		if n := sent.Load(); n != 0 {
			t.Errorf("%d requests before the definitions were read", n)
		}
		close(read)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := sent.Load(); n != 3 {
			t.Errorf("%d requests after the definitions were read, not one for each kind", n)
		}
	})
}
