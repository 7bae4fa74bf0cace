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

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// stocks are the ways in which Kubernetes' own servers answer the selector that
// they do not know: as one without a node authorizer does, and one with.
var stocks = map[string]stock{
	"not known": {http.StatusBadRequest, "BadRequest", `"holdfast.dev/used-by-node" is not a known field selector: only "metadata.name", "metadata.namespace"`},
	"not allowed": {
		http.StatusForbidden, "Forbidden",
		`configmaps is forbidden: User "system:node:n1" cannot list resource "configmaps" in API group "" at the cluster scope: can only list/watch with metadata.name`,
	},
}

type stock struct {
	code            int
	reason, message string
}

// over makes the way to a server that of a stock one.
func (s stock) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		switch {
		case strings.Contains(request.URL.RawQuery, "used-by-node"):
			return s.answer(request)
		case request.URL.Path != "/version":
			return next.RoundTrip(request)
		}
		return answer(request, http.StatusOK, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
	})
}

// answer is what such a server says to a request that it refuses.
func (s stock) answer(request *http.Request) (*http.Response, error) {
	return answer(request, s.code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReason(s.reason), Code: int32(s.code), Message: s.message,
	})
}

func answer(request *http.Request, code int, what any) (*http.Response, error) {
	body, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Request: request, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// TestStockServer: against Kubernetes' own server objects are followed one by
// one, and the end of pods is the kubelet's.
func TestStockServer(t *testing.T) {
	for name, stock := range stocks {
		t.Run(name, func(t *testing.T) { testStock(t, stock) })
	}
}

func testStock(t *testing.T, stock stock) {
	t.Helper()
	c := startCluster(t)
	c.apply(t, immutableObjects+`
---
{kind: ConfigMap, metadata: {name: mutable}, data: {app.conf: one}}`)
	credential := c.credential(t, "n1")
	credential.Wrap(stock.over)
	a := c.startAgentAs(t, credential, node.Config{Name: "n1"})
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}, {name: mutable, configMap: {name: mutable}}]`))
	a.sees(c, t, "web", "conf/app.conf", "one")
	a.sees(c, t, "web", "mutable/app.conf", "one")
	servertest.Eventually(t, "the mutable object has a watch of its own", func() bool {
		return a.requests.count("watch=true", "metadata.name%3Dmutable") > 0
	})
	if got := a.requests.count("metadata.name%3Dapp"); got != 0 {
		t.Errorf("the immutable object was watched %d times", got)
	}
	if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The agent has seen it when it follows what comes afterwards.
	c.setData(t, "mutable", "two", "")
	a.sees(c, t, "web", "mutable/app.conf", "two")
	if got := a.requests.count("DELETE"); got != 0 {
		t.Errorf("%d pods deleted", got)
	}
	dir := a.path(c, t, "web", "..")
	now := int64(0)
	if err := c.admin.CoreV1().Pods(c.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	servertest.Eventually(t, "the files are removed with the pod", func() bool {
		_, err := os.Lstat(dir)
		return os.IsNotExist(err)
	})
}
