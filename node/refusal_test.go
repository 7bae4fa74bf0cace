package node_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// logged is what an agent logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

// String is all of it.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// count is how many lines have all the parts.
func (l *logged) count(parts ...string) int {
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

// TestRefusalsAreLogged: why the server does not let a node live is in the log,
// and not once for every attempt.
func TestRefusalsAreLogged(t *testing.T) {
	c := startCluster(t)
	credential := c.credential(t, "n1")
	asked := &requests{}
	credential.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return asked.over(roundTripper(func(request *http.Request) (*http.Response, error) {
			for _, part := range []string{"/leases", "/nodes", "/events"} {
				if strings.Contains(request.URL.Path, part) {
					return stock{http.StatusForbidden, "Forbidden", "no " + part + " for you"}.answer(request)
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
	log := &logged{}
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log)))))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}]`))
	for part, what := range map[string]string{
		"/leases": "the lease of the node is not renewed; will be tried again",
		"/nodes":  "the node is not registered; will be tried again",
		"/events": "an event of a pod is not recorded",
	} {
		servertest.Eventually(t, "it is said: "+what, func() bool { return log.count(what, "no "+part+" for you", `node="`+a.Name+`"`) > 0 })
	}
	// The third attempt comes after what was to be said of the second.
	for _, part := range []string{"/leases", "/nodes"} {
		servertest.Eventually(t, "it is tried again: "+part, func() bool { return asked.count(part) > 2 })
		if got := log.count("no " + part + " for you"); got != 1 {
			t.Errorf("%s: said %d times", part, got)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if log.count("canceled") > 0 {
		t.Errorf("its end is logged: %s", log)
	}
}
