package node_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/node"
	"holdfast.dev/holdfast/internal/waittest"
)

// fakeNetwork is the transport below a connection. It records when requests are sent,
// and can be turned off. The tests run it with the fake clock of synctest.
type fakeNetwork struct {
	mu sync.Mutex
	// down, unless it is nil, is the error of all requests; otherwise status is the status
	// of all responses.
	down   error
	status int
	// times are the times of all requests since begin.
	times []time.Duration
	begin time.Time
	// open are the bodies of the open watches.
	open []*io.PipeWriter
	// nextWatch, unless it is empty, is the complete body of the next watch.
	nextWatch string
}

var errRefused = errors.New("connection refused")

func (network *fakeNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
	network.mu.Lock()
	down := network.down
	network.times = append(network.times, time.Since(network.begin))
	network.mu.Unlock()
	if down != nil {
		time.Sleep(500 * time.Millisecond) // gives other requests time to arrive
		return nil, down
	}
	network.mu.Lock()
	defer network.mu.Unlock()
	reader, writer := io.Pipe()
	response := &http.Response{StatusCode: network.status, Status: http.StatusText(network.status), Request: request, Body: reader}
	if request.URL.Query().Get("watch") != "true" {
		_ = writer.Close()
		return response, nil
	}
	if network.nextWatch != "" {
		response.Body = io.NopCloser(iotest.OneByteReader(strings.NewReader(network.nextWatch)))
		network.nextWatch = ""
		return response, nil
	}
	network.open = append(network.open, writer)
	return response, nil
}

// crash breaks off all watches and makes all requests fail.
func (network *fakeNetwork) crash() {
	network.mu.Lock()
	defer network.mu.Unlock()
	network.down, network.times, network.begin = errRefused, nil, time.Now()
	for _, writer := range network.open {
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	}
	network.open = nil
}

// restart lets requests through again.
func (network *fakeNetwork) restart() {
	network.mu.Lock()
	defer network.mu.Unlock()
	network.down, network.times, network.begin = nil, nil, time.Now()
}

// requestTimes returns the times of all requests since the last crash or restart.
func (network *fakeNetwork) requestTimes() []time.Duration {
	network.mu.Lock()
	defer network.mu.Unlock()
	return slices.Clone(network.times)
}

const watchURL = "https://server/api/v1/pods?watch=true&timeoutSeconds=300"

// keepWatching opens a watch, and opens it again as soon as it ends, until ctx ends.
// client-go does the same after the first interruption.
func keepWatching(ctx context.Context, t *testing.T, connection http.RoundTripper) {
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(node.WaitForServer(ctx), http.MethodGet, watchURL, http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := connection.RoundTrip(request)
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("a request that waits for the server: %v", err)
			}
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

// get sends a request that does not wait for the server.
func get(ctx context.Context, connection http.RoundTripper) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/api/v1/namespaces/a/configmaps/b", http.NoBody)
	if err != nil {
		return err
	}
	response, err := connection.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// TestServerLost checks an outage. The broken watches wait while one request at a time
// probes the server, with increasing delays, and they continue when it answers. Other
// requests fail without being sent. The agent reports one line at the start of the outage
// and one at its end.
func TestServerLost(t *testing.T) {
	var firsts []time.Duration
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			network := &fakeNetwork{status: http.StatusOK}
			var lines []string
			connection := node.NewConnection(network, func(line string) { lines = append(lines, line) })
			ctx, cancel := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			const watches = 10 // of one agent
			for range watches {
				watching.Go(func() { keepWatching(ctx, t, connection) })
			}
			synctest.Wait()
			if got := len(network.requestTimes()); got != watches {
				t.Fatalf("%d requests for %d watches", got, watches)
			}
			network.crash()
			synctest.Wait()
			if got := network.requestTimes(); len(got) != 0 {
				t.Fatalf("tried at once: %v", got)
			}
			time.Sleep(time.Minute)
			tries := network.requestTimes()
			if len(tries) < 4 || len(tries) > 15 {
				t.Errorf("tries in a minute: %v", tries)
			}
			firsts = append(firsts, tries[0])
			for i := 1; i < len(tries); i++ {
				if gap := tries[i] - tries[i-1]; gap < time.Second || gap > 17*time.Second {
					t.Errorf("tries %s apart: %v", gap, tries)
				}
			}
			if err := get(ctx, connection); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("a request that does not wait: %v", err)
			}
			if got := network.requestTimes(); len(got) != len(tries) {
				t.Error("a request that does not wait was sent")
			}
			network.restart()
			time.Sleep(20 * time.Second)
			if got := network.requestTimes(); len(got) != watches {
				t.Errorf("%d requests when it is back: %v", len(got), got)
			}
			if err := get(ctx, connection); err != nil {
				t.Error(err)
			}
			if len(lines) != 2 || lines[0] != "the server is away, and volumes stay as they are: connection refused" ||
				!strings.HasPrefix(lines[1], "the server is back after ") {
				t.Errorf("lines %q", lines)
			}
			cancel()
			network.crash()
			watching.Wait()
		})
	}
	slices.Sort(firsts)
	if first, last := firsts[0], firsts[len(firsts)-1]; last > 5*time.Second || last-first < time.Second {
		t.Errorf("agents are not spread: their first tries were at %v", firsts)
	}
}

// TestWatchTimeout checks that a watch that ends with its timeout, and one that the agent
// ends itself, do not count as an outage: the next watch is opened at once.
func TestWatchTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &fakeNetwork{status: http.StatusOK}
		connection := node.NewConnection(network, func(line string) { t.Error(line) })
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { keepWatching(ctx, t, connection) })
		synctest.Wait()
		time.Sleep(300*time.Second - 100*time.Millisecond) // the clock of the server is a little ahead
		network.mu.Lock()
		_ = network.open[0].Close()
		network.mu.Unlock()
		synctest.Wait()
		if got := len(network.requestTimes()); got != 2 {
			t.Errorf("%d requests, want the second one at once", got)
		}
		cancel()
		network.mu.Lock()
		_ = network.open[1].Close()
		network.mu.Unlock()
		watching.Wait()
		ctx, cancel = context.WithCancel(t.Context())
		watching.Go(func() { keepWatching(ctx, t, connection) })
		synctest.Wait()
		if got := len(network.requestTimes()); got != 3 {
			t.Errorf("%d requests, want the third one at once", got)
		}
		cancel()
		network.crash()
		watching.Wait()
	})
}

// TestWatchRejected checks that an error event as the first event of a watch counts as an
// answer of the server: the next request is sent at once. A watch that ends early without
// such an event counts as an outage: the next request waits.
func TestWatchRejected(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		// requests is the number of requests that are sent at once.
		requests int
	}{
		"error in JSON": {
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}` + "\n", 2,
		},
		"error in protobuf":       {"\x00\x00\x00\x11\n\x05ERROR\x12\x08\n\x06k8s\x00\n\x00", 2},
		"other event in JSON":     {`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","data":{"type":"ERROR"}}}` + "\n", 1},
		"other event in protobuf": {"\x00\x00\x00\x16\n\x05ADDED\x12\x0d\n\x0bk8s\x00\nERROR\x00", 1},
		"half an event":           {`{"type":"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &fakeNetwork{status: http.StatusOK, nextWatch: test.body}
				connection := node.NewConnection(network, func(line string) { t.Error(line) })
				ctx, cancel := context.WithCancel(t.Context())
				var watching sync.WaitGroup
				watching.Go(func() { keepWatching(ctx, t, connection) })
				synctest.Wait()
				if got := len(network.requestTimes()); got != test.requests {
					t.Errorf("%d requests at once, want %d", got, test.requests)
				}
				cancel()
				network.crash()
				watching.Wait()
			})
		})
	}
}

// TestServerOverloaded checks the status 429. During an outage it does not end the outage;
// without one, it is passed on to the caller like any other response.
func TestServerOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &fakeNetwork{status: http.StatusTooManyRequests}
		connection := node.NewConnection(network, nil)
		if err := get(t.Context(), connection); err != nil {
			t.Errorf("without an outage: %v", err)
		}
		network.crash()
		if err := get(t.Context(), connection); !errors.Is(err, errRefused) {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { keepWatching(ctx, t, connection) })
		network.restart()
		time.Sleep(time.Minute)
		if tries := network.requestTimes(); len(tries) < 4 || len(tries) > 15 {
			t.Errorf("tries in a minute: %v", tries)
		}
		network.mu.Lock()
		network.status = http.StatusOK
		network.mu.Unlock()
		time.Sleep(20 * time.Second)
		if err := get(ctx, connection); err != nil {
			t.Error(err)
		}
		cancel()
		network.crash()
		watching.Wait()
	})
}

// TestReconnect checks with a real server that a request waits while the server is down and
// completes when it is back.
func TestReconnect(t *testing.T) {
	t.Parallel()
	config := apiserver.Config{DataDir: t.TempDir(), Port: servertest.FreePort(t)}
	server := servertest.Start(t, config)
	var mu sync.Mutex
	var lines []string
	client, err := node.Connect(server.Config(t), func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	listed := make(chan error, 1)
	go func() {
		_, err := client.CoreV1().Namespaces().List(node.WaitForServer(t.Context()), metav1.ListOptions{})
		listed <- err
	}()
	waittest.Until(t, "the server is found to be away", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(lines) == 1
	})
	servertest.Start(t, config)
	if err := <-listed; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "the server is back after ") {
		t.Errorf("lines %q", lines)
	}
	if _, err := node.Connect(&rest.Config{Host: "::"}, nil); err == nil {
		t.Error("an invalid host was accepted")
	}
}
