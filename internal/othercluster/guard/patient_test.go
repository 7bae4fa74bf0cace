package guard_test

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// patience is how often a request is sent again. Each time, the API server has waited for the guard for as long as the webhook says.
const patience = 20

// patient sends a request again that the API server refused only because the guard did not answer in time, as it happens on a busy
// machine. Nothing was stored then.
type patient struct {
	http.RoundTripper
	// repeated counts the requests that were sent again.
	repeated *atomic.Int64
}

// withPatience returns the config with such requests.
func (f *fixture) withPatience(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return patient{next, f.repeated} })
	return config
}

// wantCount checks how many writes the guard has counted. It may have counted a write that was sent again each time.
func (f *fixture) wantCount(what string, got, want int) {
	f.Helper()
	if repeated := int(f.repeated.Load()); got < want || got > want+repeated {
		f.Errorf("%d %s are counted, want %d; %d requests were sent again", got, what, want, repeated)
	}
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	for again := 0; ; again++ {
		sent := request.Clone(request.Context())
		if request.GetBody != nil {
			body, err := request.GetBody()
			if err != nil {
				return nil, err
			}
			sent.Body = body
		}
		response, err := p.RoundTripper.RoundTrip(sent)
		if err != nil || response.StatusCode != http.StatusInternalServerError {
			return response, err
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(text))
		isSentOnce := request.Body != nil && request.GetBody == nil
		if isSentOnce || again == patience || !bytes.Contains(text, []byte("context deadline exceeded")) {
			return response, nil
		}
		p.repeated.Add(1)
	}
}
