package kubelet_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// metadataHosts are addresses at which no kubelet and no pod is: at most of them, every process of a host gets the credentials of
// the host. The names are those of the nodes, pods and Services with these addresses. TestPodAddress has more of them.
var metadataHosts = map[string]string{
	"linklocal": "169.254.169.254",
	"mapped":    "::ffff:169.254.169.254",
	"six":       "fe80::a9fe:a9fe",
	"zero":      "0.0.0.0",
	"zerosix":   "::",
	"aws":       "fd00:ec2::254",
}

// ownHosts are addresses of the host of the server, where a kubelet may be and no pod is.
var ownHosts = map[string]string{"loopback": "127.0.0.1", "second": "127.8.8.8", "loopsix": "::1", "mapsix": "::ffff:127.0.0.1"}

// A client that may write the status of nodes and pods, and Endpoints, does not reach the addresses of the server's host and of its
// cloud: not with a plain request, and not with one that upgrades its connection.
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	c := startTrusting(t)
	for name, host := range metadataHosts {
		c.addHostile(t, name, host)
		for _, path := range append(proxyPaths(name), kubeletPaths(name)...) {
			c.checkRefused(t, path)
		}
	}
	for name, host := range ownHosts {
		c.addHostile(t, name, host)
		for _, path := range proxyPaths(name) {
			c.checkRefused(t, path)
		}
	}
}

// proxyPaths are the requests of which the client chooses the path, the method and the body.
func proxyPaths(name string) []string {
	return []string{
		"/api/v1/nodes/" + name + "/proxy/x",
		"/api/v1/nodes/" + name + ":80/proxy/x",
		"/api/v1/nodes/https:" + name + ":443/proxy/x",
		"/api/v1/namespaces/default/pods/" + name + "/proxy/x",
		"/api/v1/namespaces/default/pods/https:" + name + ":443/proxy/x",
		"/api/v1/namespaces/default/services/" + name + "/proxy/x",
		"/api/v1/namespaces/default/services/https:" + name + ":80/proxy/x",
	}
}

// kubeletPaths are the requests to the kubelet of which the server chooses the path.
func kubeletPaths(name string) []string {
	pod := "/api/v1/namespaces/default/pods/" + name
	return []string{
		pod + "/log", pod + "/log?follow=true&insecureSkipTLSVerifyBackend=true",
		pod + "/exec?command=true&stdout=true", pod + "/attach?stdout=true", pod + "/portforward?ports=80",
	}
}

// addHostile creates a node, a pod and a Service with an address.
func (c cluster) addHostile(t *testing.T, name, host string) {
	t.Helper()
	c.addNode(t, name, host, 80)
	meta := metav1.ObjectMeta{Name: name}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	endpoints := &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name}}},
		Ports:     []corev1.EndpointPort{{Port: 80}},
	}}}
	// The rules for Endpoints refuse some of the addresses. The Service then has none, which is a refusal too.
	if _, err := c.client.CoreV1().Endpoints("default").Create(t.Context(), endpoints, metav1.CreateOptions{}); err != nil {
		t.Logf("Endpoints with %s: %v", host, err)
	}
}

// checkRefused sends a request to a hostile address, in each way that a client can.
func (c cluster) checkRefused(t *testing.T, path string) {
	t.Helper()
	for _, upgrade := range []string{"", "SPDY/3.1", "websocket"} {
		code, body := c.send(t, path, upgrade)
		noTarget := strings.Contains(body, "no endpoints available") || (code == http.StatusNotFound && strings.Contains(body, "endpoints"))
		noUpgrade := upgrade == "" && strings.Contains(body, "Upgrade request required")
		if !strings.Contains(body, "address not allowed") && !noTarget && !noUpgrade {
			t.Errorf("GET %s, upgrade %q: %d %s, want a refusal of the address", path, upgrade, code, body)
		}
	}
}

// send sends a request over HTTP/1 and returns the code and the body of the answer.
func (c cluster) send(t *testing.T, path, upgrade string) (code int, body string) {
	t.Helper()
	response := c.roundTrip(t, path, upgrade)
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, readFrames(response.Body)
	}
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return response.StatusCode, string(read)
}

// readFrames returns what a WebSocket or SPDY connection sends before it ends. An error of exec is in such a frame.
func readFrames(from io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(from, 1<<16))
	return string(read)
}

func (c cluster) roundTrip(t *testing.T, path, upgrade string) *http.Response {
	t.Helper()
	config := rest.CopyConfig(c.Config(t))
	config.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if upgrade != "" {
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": upgrade, "X-Stream-Protocol-Version": "v4.channel.k8s.io",
			"Sec-Websocket-Version": "13", "Sec-Websocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-Websocket-Protocol": "v5.channel.k8s.io",
		} {
			req.Header.Set(name, value)
		}
	}
	// RoundTrip does not follow redirects.
	response, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return response
}

// A kubelet and a pod redirect requests to another address. The server follows neither: an error names the redirect of the kubelet,
// and the client gets the redirect of the pod.
func TestRedirects(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 100)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.String() }))
	t.Cleanup(target.Close)
	c := startTrusting(t)
	host, port := serveRedirects(t, c, target.URL+"/stolen")
	c.addNode(t, "kubelet", host, port)
	for _, path := range kubeletPaths("kubelet") {
		for _, upgrade := range []string{"", "SPDY/3.1", "websocket"} {
			if code, body := c.send(t, path, upgrade); code == http.StatusOK {
				t.Errorf("GET %s, upgrade %q: %d %s", path, upgrade, code, body)
			}
		}
	}
	pod, podPort := servePod(t, http.RedirectHandler(target.URL+"/stolen", http.StatusFound))
	c.addNode(t, "pod", pod, podPort)
	path := fmt.Sprintf("/api/v1/namespaces/default/pods/pod:%d/proxy/", podPort)
	response := c.roundTrip(t, path, "")
	_ = response.Body.Close()
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusFound || got != target.URL+"/stolen" {
		t.Errorf("GET %s: %s with location %q, want the redirect of the pod", path, response.Status, got)
	}
	if len(reached) > 0 {
		t.Errorf("the server followed a redirect to %s", <-reached)
	}
}

// serveRedirects starts a kubelet that redirects every request.
func serveRedirects(t *testing.T, c cluster, to string) (host string, port int32) {
	t.Helper()
	return serveWith(t, c.authority, http.RedirectHandler(to, http.StatusTemporaryRedirect))
}

// A pod does not get the credential of the client, nor that of the server.
func TestPodsGetNoCredential(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	host, port := servePod(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	c := startTrusting(t)
	c.addNode(t, "pod", host, port)
	config := rest.CopyConfig(c.Config(t))
	config.Impersonate = rest.ImpersonationConfig{UserName: "someone", Groups: []string{"system:masters"}}
	path := fmt.Sprintf("/api/v1/namespaces/default/pods/pod:%d/proxy/", port)
	if got := get(t, config, path); !strings.HasPrefix(got, "200 ") {
		t.Fatal(got)
	}
	for name, values := range <-seen {
		if strings.HasPrefix(name, "Impersonate") || strings.HasPrefix(name, "X-Remote") || name == "Authorization" || name == "Cookie" {
			t.Errorf("the pod got the header %s: %s", name, values)
		}
	}
}

// With the address of an HTTP proxy in the environment of the server, the server still opens the connections itself: a
// proxy would connect to any address.
func TestAddressesBehindProxy(t *testing.T) {
	if os.Getenv("HTTPS_PROXY") != insideProxy {
		runWithProxy(t)
		return
	}
	c := startTrusting(t)
	c.addHostile(t, "hidden", "169.254.169.254")
	c.checkRefused(t, "/api/v1/namespaces/default/pods/hidden/log")
	c.addNode(t, "gone", "192.0.2.1", 1)
	if code, body := c.send(t, "/api/v1/namespaces/default/pods/gone:1/proxy/x", ""); strings.Contains(body, "proxyconnect") {
		t.Errorf("the server asked the proxy: %d %s", code, body)
	}
}

// insideProxy is the address of a proxy at which nothing listens.
const insideProxy = "http://127.0.0.1:1"

// runWithProxy runs the test in a process of its own: Go reads the variables for proxies once in a process.
func runWithProxy(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "HTTPS_PROXY="+insideProxy, "HTTP_PROXY="+insideProxy, "NO_PROXY=")
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("%v: %s", err, output)
	}
}

// servePod starts a server on an address that a pod could have.
func servePod(t *testing.T, handler http.Handler) (host string, port int32) {
	t.Helper()
	address, err := utilnet.ChooseHostInterface()
	if err != nil {
		t.Skip("the host has no address that a pod could have:", err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(0)))
	if err != nil {
		t.Skip(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: handler}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return splitAddress(t, listener.Addr().String())
}
