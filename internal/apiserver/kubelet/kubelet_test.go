package kubelet_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/kubelet"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
)

// cluster is a server that trusts the kubelets of one authority.
type cluster struct {
	*servertest.Server
	client    kubernetes.Interface
	authority *access.Authority
}

// startTrusting starts a server that trusts the kubelets of a new authority.
func startTrusting(t *testing.T) cluster {
	t.Helper()
	authority, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubelets.crt")
	if err := os.WriteFile(file, authority.CertPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	server := servertest.Start(t, apiserver.Config{WithoutOperators: true, Kubelet: kubelet.Config{CAFile: file}})
	return cluster{Server: server, client: server.Client(t), authority: authority}
}

// serve starts a kubelet with a certificate of an authority. It answers every request with the path.
func serve(t *testing.T, authority *access.Authority) (host string, port int32) {
	t.Helper()
	return serveWith(t, authority, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s by %s\n", r.URL.Path, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
}

// serveWith starts a kubelet with a certificate of an authority.
func serveWith(t *testing.T, authority *access.Authority, handler http.Handler) (host string, port int32) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	pair, err := authority.Issue(access.Subject{User: "kubelet", Hosts: []string{"127.0.0.1"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return splitAddress(t, server.Listener.Addr().String())
}

func splitAddress(t *testing.T, address string) (string, int32) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return host, int32(port)
}

// addNode creates a Node and a pod of the same name on it.
func (c cluster) addNode(t *testing.T, name, host string, port int32) {
	t.Helper()
	node, err := c.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeExternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeInternalIP, Address: host},
	}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = port
	if _, err := c.client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.Unmap().String() // a pod cannot have an IPv4-mapped address
	}
	c.addPod(t, name, host)
}

// addPod creates a pod on the node of the same name, with the given IP in its status.
func (c cluster) addPod(t *testing.T, name, ip string) {
	t.Helper()
	no := false
	servertest.AwaitAccount(t, c.client, "default")
	pod, err := c.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName: name, AutomountServiceAccountToken: &no, Containers: []corev1.Container{{Name: "main", Image: "x"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	if _, err := c.client.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// get returns the body of an answer, or the message of its Status with the code.
func get(t *testing.T, config *rest.Config, path string) string {
	t.Helper()
	config = rest.CopyConfig(config)
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(response.StatusCode) + " " + string(body)
}

// TestAddresses checks where the server connects to, and what clients read if it does not.
func TestAddresses(t *testing.T) {
	t.Parallel()
	c := startTrusting(t)
	stranger, _, err := access.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	good, goodPort := serve(t, c.authority)
	strange, strangePort := serve(t, stranger)
	c.addNode(t, "good", good, goodPort)
	c.addNode(t, "strange", strange, strangePort)
	c.addNode(t, "cloud", "169.254.169.254", 80)
	c.addNode(t, "gone", "127.0.0.1", 1)
	if _, err := c.client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.addPod(t, "bare", "169.254.169.254")
	c.addWaiting(t)
	c.addService(t)
	pods := "/api/v1/namespaces/default/pods/"
	for path, want := range map[string]string{
		pods + "good/log":    "200 /containerLogs/default/good/main by kube-apiserver-kubelet-client\n",
		pods + "strange/log": "certificate signed by unknown authority",
		pods + "strange/log?insecureSkipTLSVerifyBackend=true": "200 /containerLogs/default/strange/main",
		pods + "cloud/log":                             "address not allowed",
		pods + "gone/log":                              `the kubelet of node \"gone\" does not answer: `,
		pods + "bare/log":                              `node \"bare\" has no kubelet that the server can reach`,
		pods + "waiting/log?container=a":               "204 ",
		pods + "waiting/log":                           "a container name must be specified for pod waiting, choose one of: [init a b]",
		pods + "waiting/log?container=c":               "container c is not valid for pod waiting",
		pods + "waiting/exec?container=a&command=true": "400 ",
		pods + "waiting/attach?container=init":         "pod waiting does not have a host assigned",
		pods + "waiting/portforward":                   "pod waiting does not have a host assigned",
		pods + "good/log?tailLines=-1":                 "must be greater than or equal to 0",
		pods + "good/log?tailLines=x":                  "400",
		pods + "good/exec?command=true":                "Upgrade request required",
		pods + "good/proxy/":                           "address not allowed",
		pods + "bare/proxy/":                           "address not allowed",
		"/api/v1/nodes/good/proxy/pods":                `"message":"address not allowed","reason":"BadRequest"`,
		"/api/v1/nodes/cloud:80/proxy/":                `"message":"address not allowed","reason":"BadRequest"`,
		"/api/v1/nodes/cloud/proxy/":                   `"message":"address not allowed","reason":"BadRequest"`,
		"/api/v1/namespaces/default/services/s/proxy/": `no endpoints available for service \"s\"`,
	} {
		if got := get(t, c.Config(t), path); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := get(t, c.Config(t), pods+"gone/log"); !strings.HasPrefix(got, "502 ") || !strings.Contains(got, `"kind":"Status"`) {
		t.Errorf("a kubelet that does not answer: %s", got)
	}
}

// addWaiting creates a pod without a node, with three containers.
func (c cluster) addWaiting(t *testing.T) {
	t.Helper()
	no := false
	container := func(name string) corev1.Container { return corev1.Container{Name: name, Image: "x"} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "waiting"}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &no, InitContainers: []corev1.Container{container("init")},
		Containers: []corev1.Container{container("a"), container("b")},
	}}
	if _, err := c.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// addService creates a Service with Endpoints that name the address of another host as that of a pod.
func (c cluster) addService(t *testing.T) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "s"}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := c.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	endpoints := &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: "192.0.2.7", TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "good"}}},
		Ports:     []corev1.EndpointPort{{Port: 80}},
	}}}
	if _, err := c.client.CoreV1().Endpoints("default").Create(t.Context(), endpoints, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestProxy checks that a proxy reaches a pod, by its own name and by that of a Service.
func TestProxy(t *testing.T) {
	t.Parallel()
	host, port := servePod(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	c := startTrusting(t)
	c.addNode(t, "web", host, port)
	meta := metav1.ObjectMeta{Name: "web"}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	if _, err := c.client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	endpoints := &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web"}}},
		Ports:     []corev1.EndpointPort{{Name: "http", Port: port}},
	}}}
	if _, err := c.client.CoreV1().Endpoints("default").Create(t.Context(), endpoints, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		fmt.Sprintf("/api/v1/namespaces/default/pods/web:%d/proxy/a/b?c=d", port),
		fmt.Sprintf("/api/v1/namespaces/default/pods/http:web:%d/proxy/a/b?c=d", port),
		"/api/v1/namespaces/default/services/web:http/proxy/a/b?c=d",
		"/api/v1/namespaces/default/services/web:80/proxy/a/b?c=d",
	} {
		if got := get(t, c.Config(t), path); got != "200 GET /a/b?c=d " {
			t.Errorf("%s: got %s", path, got)
		}
	}
	// The server does not check the body of a proxied request.
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	sent, err := c.client.CoreV1().RESTClient().Post().AbsPath("/api/v1/namespaces/default/services/web:http/proxy/deep").
		SetHeader("Content-Type", "application/json").Body([]byte(deep)).DoRaw(t.Context())
	if err != nil || string(sent) != "POST /deep "+deep {
		t.Errorf("got %s, %v", sent, err)
	}
}

// TestRights checks that the verb get of pods/exec does not open a WebSocket. As in Kubernetes, a
// user needs the verb create as well.
func TestRights(t *testing.T) {
	t.Parallel()
	c := startTrusting(t)
	c.addNode(t, "gone", "127.0.0.1", 1)
	for name, verbs := range map[string][]string{"reader": {"get"}, "operator": {"get", "create"}} {
		servertest.Grant(t, c.client, rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"pods/exec", "pods/attach", "pods/portforward"}, Verbs: verbs,
			}},
		})
	}
	for _, subresource := range []string{"exec?command=true", "attach", "portforward"} {
		path := "/api/v1/namespaces/default/pods/gone/" + subresource
		waittest.Until(t, "the role of the operator holds for "+subresource, func() bool {
			return strings.HasPrefix(get(t, c.As(t, "operator"), path), "400 ")
		})
		if got := get(t, c.As(t, "reader"), path); !strings.HasPrefix(got, "403 ") {
			t.Errorf("%s of the reader: %s", subresource, got)
		}
	}
}
