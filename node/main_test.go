package node_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/cli"
	"holdfast.dev/holdfast/node"
)

// shared is the server that tests share which do not end it.
var shared struct {
	sync.Once
	server *servertest.Server
	err    error
	tests  atomic.Int64
}

func TestMain(m *testing.M) {
	for variable, run := range map[string]func(string) error{childServer: serveChild, childAgent: runChildAgent} {
		text := os.Getenv(variable)
		if text == "" {
			continue
		}
		if err := run(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Clients take up a new certificate this soon, and in production in minutes.
	transport.CertCallbackRefreshDuration = time.Second
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "server ended with", err)
			code = 1
		}
		_ = os.RemoveAll(filepath.Dir(shared.server.Kubeconfig()))
	}
	os.Exit(code)
}

// cluster is a server with an administrator, who does what people do; agents
// have their own credentials.
type cluster struct {
	*servertest.Server
	admin kubernetes.Interface
	// namespace is this test's own, as are nodes, whose names get suffix.
	namespace, suffix string
}

// launchShared starts a server in a directory that outlives the test.
func launchShared() (*servertest.Server, error) {
	dir, err := os.MkdirTemp("", "holdfast-node-test")
	if err != nil {
		return nil, err
	}
	return servertest.Launch(apiserver.Config{DataDir: dir})
}

// startCluster gives a test a namespace, and nodes of its own, on the shared
// server.
func startCluster(t testing.TB) *cluster {
	t.Helper()
	shared.Do(func() { shared.server, shared.err = launchShared() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return clusterOf(t, shared.server)
}

func clusterOf(t testing.TB, server *servertest.Server) *cluster {
	t.Helper()
	id := shared.tests.Add(1)
	c := &cluster{Server: server, admin: server.Client(t), namespace: fmt.Sprintf("test-%d", id), suffix: fmt.Sprintf("-%d", id)}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// credential is a kubeconfig's way in for a node, got as an administrator gets
// it.
func (c *cluster) credential(t testing.TB, name string) *rest.Config {
	t.Helper()
	var out bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: io.Discard}
	if err := cli.Run(t.Context(), streams, []string{"kubeconfig", "--node", name + c.suffix, "--kubeconfig", c.Kubeconfig()}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "node.kubeconfig")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return servertest.Config(t, file)
}

// agent is an agent under test with what it asked the server for.
type agent struct {
	*node.Agent
	name, root string
	requests   *requests
	cancel     context.CancelFunc
	ended      chan error
}

// startAgent runs an agent with the credential of its node. What the
// configuration leaves open is filled in.
func (c *cluster) startAgent(t testing.TB, config node.Config) *agent {
	t.Helper()
	return c.startAgentAs(t, c.credential(t, config.Name), config)
}

func (c *cluster) startAgentAs(t testing.TB, credential *rest.Config, config node.Config) *agent {
	t.Helper()
	config.Name += c.suffix
	a := &agent{name: config.Name, requests: &requests{}, ended: make(chan error, 1)}
	if config.Root == "" {
		config.Root = t.TempDir()
	}
	if config.InMemory == nil {
		config.SecretsOnDisk = true
	}
	a.root = config.Root
	credential = rest.CopyConfig(credential)
	credential.Wrap(func(next http.RoundTripper) http.RoundTripper { return a.requests.over(next) })
	client, err := node.Connect(credential, nil)
	if err != nil {
		t.Fatal(err)
	}
	config.Client = client
	if a.Agent, err = node.New(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // it ends in the cleanup, after the test's own context
	a.cancel = cancel
	go func() { a.ended <- a.Run(ctx) }()
	t.Cleanup(func() { a.stop(t) })
	return a
}

// stop ends the agent; a second call does nothing.
func (a *agent) stop(t testing.TB) {
	t.Helper()
	if a.cancel == nil {
		return
	}
	a.cancel()
	a.cancel = nil
	if err := <-a.ended; err != nil {
		t.Errorf("agent of %s ended with %v", a.name, err)
	}
}

// requests counts what is asked of the server.
type requests struct {
	mu  sync.Mutex
	log []string
}

func (r *requests) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		what := "full"
		if strings.Contains(request.Header.Get("Accept"), "PartialObjectMetadata") {
			what = "metadata"
		}
		body := []byte(nil)
		if request.Method == http.MethodDelete && request.Body != nil {
			var err error
			if body, err = io.ReadAll(request.Body); err != nil {
				return nil, err
			}
			request.Body = io.NopCloser(bytes.NewReader(body))
		}
		r.mu.Lock()
		r.log = append(r.log, fmt.Sprintf("%s %s %s %s", request.Method, what, request.URL.RequestURI(), body))
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// count is how many requests contain all the parts.
func (r *requests) count(parts ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
next:
	for _, line := range r.log {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		count++
	}
	return count
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// apply creates objects from YAML documents.
func (c *cluster) apply(t testing.TB, documents string) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		var kind metav1.TypeMeta
		decode(t, document, &kind)
		var err error
		switch kind.Kind {
		case "ConfigMap":
			obj := &corev1.ConfigMap{}
			decode(t, document, obj)
			_, err = c.admin.CoreV1().ConfigMaps(c.namespace).Create(t.Context(), obj, metav1.CreateOptions{})
		case "Secret":
			obj := &corev1.Secret{}
			decode(t, document, obj)
			_, err = c.admin.CoreV1().Secrets(c.namespace).Create(t.Context(), obj, metav1.CreateOptions{})
		case "Pod":
			obj := &corev1.Pod{}
			decode(t, document, obj)
			obj.Spec.NodeName += c.suffix
			if obj.Spec.Containers == nil {
				obj.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
			}
			// The default account may be a moment late.
			servertest.Eventually(t, "pod created", func() bool {
				_, err = c.admin.CoreV1().Pods(c.namespace).Create(t.Context(), obj, metav1.CreateOptions{})
				return err == nil || !strings.Contains(err.Error(), "service account")
			})
		default:
			t.Fatalf("kind %q", kind.Kind)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func decode(t testing.TB, document string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(document), into); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
}

// pod is a pod on a node with volumes, in YAML's flow style.
func pod(name, nodeName, volumes string) string {
	return fmt.Sprintf("{kind: Pod, metadata: {name: %s}, spec: {nodeName: %s, automountServiceAccountToken: false, volumes: %s}}", name, nodeName, volumes)
}

func (c *cluster) uid(t testing.TB, pod string) string {
	t.Helper()
	obj, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(obj.UID)
}

// path is a file of a pod's volume.
func (a *agent) path(c *cluster, t testing.TB, pod, file string) string {
	t.Helper()
	return filepath.Join(a.root, "pods", c.uid(t, pod), "volumes", file)
}

// sees waits until a file says what it should.
func (a *agent) sees(c *cluster, t testing.TB, pod, file, want string) {
	t.Helper()
	path := a.path(c, t, pod, file)
	servertest.Eventually(t, fmt.Sprintf("%s of pod %s says %q", file, pod, want), func() bool {
		data, err := os.ReadFile(path)
		return err == nil && string(data) == want
	})
}

// condition waits until the pod's condition says what it should, by its status
// and a part of its message.
func (c *cluster) condition(t testing.TB, pod string, status corev1.ConditionStatus, message string) {
	t.Helper()
	last := ""
	servertest.Eventually(t, fmt.Sprintf("condition of pod %s: %s %q", pod, status, message), func() bool {
		obj, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range obj.Status.Conditions {
			if condition.Type != node.VolumesReady {
				continue
			}
			if now := fmt.Sprint(condition.Status, " ", condition.Message); now != last {
				last = now
				t.Logf("pod %s: %s", pod, now)
			}
			return condition.Status == status && strings.Contains(condition.Message, message) && (message == "") == (condition.Message == "")
		}
		return false
	})
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
