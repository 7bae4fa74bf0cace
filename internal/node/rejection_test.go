package node_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// logBuffer collects the log of an agent.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logBuffer) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

// String returns the log.
func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// count returns how many lines contain all the parts.
func (l *logBuffer) count(parts ...string) int {
	count := 0
next:
	for line := range strings.Lines(l.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		count++
	}
	return count
}

// TestChangesAreLogged checks that the agent logs one line for each change of a volume, with the
// object and without the content.
func TestChangesAreLogged(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	c.apply(t, immutableObjects)
	log := &logBuffer{}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
	client, err := node.Connect(c.credential(t, "n1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := node.New(node.Config{Client: client, Name: "n1" + c.suffix, Root: t.TempDir(), SecretsOnDisk: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	c.apply(t, pod("web", "n1", bothVolumes))
	c.waitForCondition(t, "web", "True", "")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	secret, err := c.admin.CoreV1().Secrets(c.namespace).Get(t.Context(), "key", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parts := []string{
		"a volume changed", `pod="` + c.namespace + `/web"`, `uid="` + c.uid(t, "web") + `"`, `volume="key"`, `digest="hmac-sha256:`,
		"secret " + c.namespace + "/key uid=" + string(secret.UID) + " resourceVersion=" + secret.ResourceVersion + " digest=hmac-sha256:",
	}
	if log.count(parts...) != 1 || log.count("a volume changed") != 2 || log.count("hunter2") != 0 {
		t.Errorf("%s", log)
	}
}

// TestRejectionsAreLogged checks that the agent logs why the server rejects its Lease, its Node and
// its Events, and that it does not log this for every attempt.
func TestRejectionsAreLogged(t *testing.T) {
	t.Parallel()
	for name, rejected := range map[string]map[string]string{
		"node and events": {
			"/nodes": "the node is not registered; will be tried again", "/events": "an event of a pod is not recorded",
		},
		"lease": {"/leases": "the lease of the node is not renewed; will be tried again"},
	} {
		t.Run(name, func(t *testing.T) { testRejections(t, rejected) })
	}
}

// testRejections runs an agent with a server that rejects requests with these parts in their
// paths, and checks that each rejection is logged.
func testRejections(t *testing.T, rejected map[string]string) {
	t.Helper()
	c := startCluster(t)
	credential := c.credential(t, "n1")
	sent := &requests{}
	credential.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return sent.wrap(roundTripper(func(request *http.Request) (*http.Response, error) {
			for part := range rejected {
				if strings.Contains(request.URL.Path, part) {
					return stockServer{http.StatusForbidden, "Forbidden", "no " + part + " for you"}.reject(request)
				}
			}
			return next.RoundTrip(request)
		}))
	})
	client, err := node.Connect(credential, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := node.New(node.Config{Client: client, Name: "n1" + c.suffix, Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	for part, what := range rejected {
		waittest.Until(t, "logged: "+what, func() bool {
			return log.count(what, "no "+part+" for you", `node="`+a.Name+`"`) > 0
		})
	}
	// The agent sends the third request after it has handled the rejection of the second
	// one. If it had logged that rejection, the line would be in the log by then.
	for part := range rejected {
		if part == "/events" {
			continue // an Event is not sent again
		}
		waittest.Until(t, "sent again: "+part, func() bool { return sent.count(part) > 2 })
		if got := log.count("no " + part + " for you"); got != 1 {
			t.Errorf("%s: logged %d times", part, got)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if log.count("canceled") > 0 {
		t.Errorf("the end of the context is logged: %s", log)
	}
}
