package node_test

import (
	"bytes"
	"context"
	"errors"
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

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/cli"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// shared is the server for all tests that do not stop the server.
var shared struct {
	sync.Once
	server *servertest.Server
	err    error
	tests  atomic.Int64
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childAgentEnv); text != "" {
		if err := runChildAgent(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// How often clients check for a new certificate; the default is several minutes.
	transport.CertCallbackRefreshDuration = time.Second
	code := servertest.ProcessMain(m)
	if shared.server != nil {
		if err := shared.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "server ended with", err)
			code = 1
		}
		_ = os.RemoveAll(filepath.Dir(shared.server.Kubeconfig()))
	}
	os.Exit(code)
}

// cluster is a server for one test, with a client that has the rights of an
// administrator. Agents have their own credentials.
type cluster struct {
	*servertest.Server
	admin kubernetes.Interface
	// namespace is used by this test only. suffix is added to the names of its nodes.
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

// startCluster returns a cluster on the shared server, with a namespace and a suffix for
// nodes that no other test uses.
func startCluster(t testing.TB) *cluster {
	t.Helper()
	shared.Do(func() { shared.server, shared.err = launchShared() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return clusterOf(t, shared.server)
}

// clusterOf returns a cluster on the given server.
func clusterOf(t testing.TB, server *servertest.Server) *cluster {
	t.Helper()
	id := shared.tests.Add(1)
	c := &cluster{Server: server, admin: server.Client(t), namespace: fmt.Sprintf("test-%d", id), suffix: fmt.Sprintf("-%d", id)}
	servertest.CreateNamespace(t, c.admin, c.namespace)
	return c
}

// credential returns the client configuration of a node. It runs the same command as an
// administrator would: "holdfast kubeconfig --node".
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

// agent is an agent under test. It records the requests of the agent.
type agent struct {
	*node.Agent
	name, root string
	requests   *requests
	cancel     context.CancelFunc
	ended      chan error
}

// startAgent runs an agent with the credential of its node, and stops it when the test
// ends. If config has no Root, the agent gets a temporary directory.
func (c *cluster) startAgent(t testing.TB, config node.Config) *agent {
	t.Helper()
	return c.startAgentAs(t, c.credential(t, config.Name), config)
}

// startAgentAs runs an agent with the given credential.
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
	credential.Wrap(func(next http.RoundTripper) http.RoundTripper { return a.requests.wrap(next) })
	client, err := node.Connect(credential, nil)
	if err != nil {
		t.Fatal(err)
	}
	config.Client = client
	if a.Agent, err = node.New(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background()) //nolint:usetesting // the cleanup ends it, later than t.Context()
	a.cancel = cancel
	go func() { a.ended <- a.Run(ctx) }()
	t.Cleanup(func() { a.stop(t) })
	return a
}

// stop stops the agent and waits until it has ended. A second call does nothing.
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

// requests is a log of requests to the server.
type requests struct {
	mu  sync.Mutex
	log []string
}

// wrap returns a transport that logs every request: its method, "metadata" or "full" for
// the form of the response that it asks for, its URI, and the body of a DELETE.
func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
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

// count returns how many entries of the log contain all the parts.
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

func (c *cluster) uid(t testing.TB, pod string) string {
	t.Helper()
	obj, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(obj.UID)
}

// path returns the path of a file in the volumes of a pod, such as conf/app.conf.
func (a *agent) path(c *cluster, t testing.TB, pod, file string) string {
	t.Helper()
	return filepath.Join(a.root, "pods", c.uid(t, pod), "volumes", file)
}

// waitForFile waits until a file in the volumes of a pod has the wanted content.
func (a *agent) waitForFile(c *cluster, t testing.TB, pod, file, want string) {
	t.Helper()
	path := a.path(c, t, pod, file)
	waittest.Until(t, fmt.Sprintf("%s of pod %s says %q", file, pod, want), func() error {
		data, err := os.ReadFile(path)
		if err == nil && string(data) != want {
			return fmt.Errorf("it says %q", data)
		}
		return err
	})
}

// waitForCondition waits until the condition VolumesReady of a pod has this status and
// its message contains the text. An empty text means an empty message.
func (c *cluster) waitForCondition(t testing.TB, pod string, status corev1.ConditionStatus, message string) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("condition of pod %s: %s %q", pod, status, message), func() error {
		obj, err := c.admin.CoreV1().Pods(c.namespace).Get(t.Context(), pod, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range obj.Status.Conditions {
			if condition.Type != node.VolumesReady {
				continue
			}
			if condition.Status == status && strings.Contains(condition.Message, message) && (message == "") == (condition.Message == "") {
				return nil
			}
			return fmt.Errorf("the condition is %s %q", condition.Status, condition.Message)
		}
		return errors.New("the pod has no condition " + string(node.VolumesReady))
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
