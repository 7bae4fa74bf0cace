package node_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// stockServers are the responses of a stock Kubernetes API server to the field selector of
// Holdfast, which it does not support. A server with the node authorizer rejects the request
// before it looks at the selector.
var stockServers = map[string]stockServer{
	"without node authorizer": {
		http.StatusBadRequest, "BadRequest",
		`"holdfast.dev/used-by-node" is not a known field selector: only "metadata.name", "metadata.namespace"`,
	},
	"with node authorizer": {
		http.StatusForbidden, "Forbidden",
		`configmaps is forbidden: User "system:node:n1" cannot list resource "configmaps" in API group "" at the cluster scope: ` +
			`can only list/watch with metadata.name`,
	},
}

// stockServer simulates a stock Kubernetes API server with a given response to the selector.
type stockServer struct {
	code            int
	reason, message string
}

// wrap returns a transport that makes a Holdfast server look like a stock one.
func (s stockServer) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		switch {
		case strings.Contains(request.URL.RawQuery, "used-by-node"):
			return s.reject(request)
		case request.URL.Path != "/version":
			return next.RoundTrip(request)
		}
		return respond(request, http.StatusOK, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
	})
}

// reject returns the response of the server to a request that it rejects.
func (s stockServer) reject(request *http.Request) (*http.Response, error) {
	return respond(request, s.code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReason(s.reason), Code: int32(s.code), Message: s.message,
	})
}

// respond returns a response with a JSON body.
func respond(request *http.Request, code int, what any) (*http.Response, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// TestStockServer checks that the agent of a stock API server opens one watch for each mutable
// object, and finishes the deletion of its pods, because no kubelet does.
func TestStockServer(t *testing.T) {
	t.Parallel()
	for name, stock := range stockServers {
		t.Run(name, func(t *testing.T) { testStockServer(t, stock) })
	}
}

func testStockServer(t *testing.T, stock stockServer) {
	t.Helper()
	c := startCluster(t)
	c.apply(t, immutableObjects+`
---
{kind: ConfigMap, metadata: {name: mutable}, data: {app.conf: one}}`)
	credential := c.credential(t, "n1")
	credential.Wrap(stock.wrap)
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}, {name: mutable, configMap: {name: mutable}}]`))
	a.waitForFile(c, t, "web", "conf/app.conf", "one")
	a.waitForFile(c, t, "web", "mutable/app.conf", "one")
	waittest.Until(t, "the mutable object has a watch of its own", func() bool {
		return a.requests.count("watch=true", "metadata.name%3Dmutable") > 0
	})
	if got := a.requests.count("metadata.name%3Dapp"); got != 0 {
		t.Errorf("the immutable object was watched %d times", got)
	}
	dir := a.path(c, t, "web", "..")
	c.registered(t, a)
	c.deletePod(t, "web")
	c.waitForDeletion(t, "web")
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the files of a deleted pod: %v", err)
	}
}
