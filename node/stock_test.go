package node_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// stock makes the way to a server that of one that does not know the selector:
// with an answer to it as Kubernetes gives it.
func stock(next http.RoundTripper) http.RoundTripper {
	const answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,` +
		`"message":"\"holdfast.dev/used-by-node\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""}`
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if !strings.Contains(request.URL.RawQuery, "used-by-node") {
			return next.RoundTrip(request)
		}
		return &http.Response{
			StatusCode: http.StatusBadRequest, Request: request, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(answer)),
		}, nil
	})
}

// TestStockServer: against Kubernetes' own server objects are followed one by
// one, and the end of pods is the kubelet's.
func TestStockServer(t *testing.T) {
	c := startCluster(t)
	c.apply(t, immutableObjects+`
---
{kind: ConfigMap, metadata: {name: mutable}, data: {app.conf: one}}`)
	credential := c.credential(t, "n1")
	credential.Wrap(stock)
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
