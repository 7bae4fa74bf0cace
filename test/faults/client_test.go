package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// client sends requests to one server, each of them once: a retry would hide that the first try
// was stored.
type client struct{ rest *rest.RESTClient }

func newClient(kubeconfig string) (*client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return clientFor(config)
}

// clientFor returns a client with a connection of its own.
func clientFor(config *rest.Config) (*client, error) {
	config = rest.CopyConfig(config)
	// client-go shares connections between clients with the same config, but not if they have a dialer.
	config.Dial = (&net.Dialer{}).DialContext
	config.ContentConfig.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	made, err := rest.UnversionedRESTClientFor(config)
	return &client{made}, err
}

// outcome says what an answer tells about a write.
type outcome int

const (
	acknowledged outcome = iota
	refused
	open
)

// answer is the answer to one request.
type answer struct {
	outcome outcome
	object  map[string]any
	// code is the HTTP status, 0 without an answer.
	code int
	err  error
}

// version returns the resourceVersion of the object, or of the list.
func (a answer) version() uint64 { return versionOf(a.object) }

func versionOf(object map[string]any) uint64 {
	text, _, _ := unstructured.NestedString(object, "metadata", "resourceVersion")
	version, _ := strconv.ParseUint(text, 10, 64)
	return version
}

const (
	mergePatch = "application/merge-patch+json"
	plainJSON  = "application/json"
)

func (c *client) get(ctx context.Context, path string) answer { return c.send(ctx, "GET", path, nil) }

func (c *client) create(ctx context.Context, path string, object map[string]any) answer {
	return c.send(ctx, "POST", path, object)
}

func (c *client) update(ctx context.Context, path string, object map[string]any) answer {
	return c.send(ctx, "PUT", path, object)
}

func (c *client) patch(ctx context.Context, path string, patch map[string]any) answer {
	return c.send(ctx, "PATCH", path, patch)
}

func (c *client) delete(ctx context.Context, path string) answer {
	return c.send(ctx, "DELETE", path, nil)
}

// send sends a request with a JSON body, and classifies the answer.
func (c *client) send(ctx context.Context, verb, path string, body map[string]any) answer {
	request := c.rest.Verb(verb).RequestURI(path).MaxRetries(0)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{outcome: refused, err: err}
		}
		kind := plainJSON
		if verb == http.MethodPatch {
			kind = mergePatch
		}
		request = request.SetHeader("Content-Type", kind).Body(text)
	}
	answered := request.Do(ctx)
	// Error, unlike Raw, has the message of the server.
	if err := answered.Error(); err != nil {
		return classify(err)
	}
	text, err := answered.Raw()
	if err != nil {
		return classify(err)
	}
	a := answer{outcome: acknowledged, code: http.StatusOK}
	if err := json.Unmarshal(text, &a.object); err != nil {
		return answer{outcome: open, err: err}
	}
	return a
}

// classify returns the answer for an error. The server stores nothing for a request that it answers
// with a status below 500, and gets no request if the connection is refused.
func classify(err error) answer {
	a := answer{outcome: open, err: err}
	var status *apierrors.StatusError
	switch {
	case errors.As(err, &status):
		a.code = int(status.ErrStatus.Code)
		if a.code < http.StatusInternalServerError {
			a.outcome = refused
		}
	case errors.Is(err, syscall.ECONNREFUSED):
		a.outcome = refused
	}
	return a
}
