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

	"holdfast.dev/holdfast/apiserver"
	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/node"
)

// wire is the network under a connection, as far as the time of requests is
// concerned: who asks when, and whether somebody is there.
type wire struct {
	mu       sync.Mutex
	down     error
	status   int
	attempts []time.Duration
	begin    time.Time
	open     []*io.PipeWriter
	// says is all that the next watch has.
	says string
}

var errRefused = errors.New("connection refused")

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	w.mu.Lock()
	down := w.down
	w.attempts = append(w.attempts, time.Since(w.begin))
	w.mu.Unlock()
	if down != nil {
		time.Sleep(500 * time.Millisecond) // long enough for others to come
		return nil, down
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	reader, writer := io.Pipe()
	response := &http.Response{StatusCode: w.status, Status: http.StatusText(w.status), Request: request, Body: reader}
	if request.URL.Query().Get("watch") != "true" {
		_ = writer.Close()
		return response, nil
	}
	if w.says != "" {
		response.Body = io.NopCloser(iotest.OneByteReader(strings.NewReader(w.says)))
		w.says = ""
		return response, nil
	}
	w.open = append(w.open, writer)
	return response, nil
}

// crash breaks all watches off and lets nobody in.
func (w *wire) crash() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.attempts, w.begin = errRefused, nil, time.Now()
	for _, writer := range w.open {
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
	}
	w.open = nil
}

func (w *wire) restart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.attempts, w.begin = nil, nil, time.Now()
}

func (w *wire) tried() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.attempts)
}

const watchURL = "https://server/api/v1/pods?watch=true&timeoutSeconds=300"

// follow has a watch open until ctx ends, and opens it again at once when it
// ends, as client-go does the first time.
func follow(ctx context.Context, t *testing.T, connection http.RoundTripper) {
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(node.Patiently(ctx), http.MethodGet, watchURL, http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := connection.RoundTrip(request)
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("a patient request: %v", err)
			}
			return
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
}

// ask makes a request that does not wait.
func ask(ctx context.Context, connection http.RoundTripper) error {
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

// TestServerLost: the watches of an agent that break wait, one request at a time
// tries, later each time, and all go on when it gets through. Everything else
// fails meanwhile without a request, and a person reads two lines.
func TestServerLost(t *testing.T) {
	var firsts []time.Duration
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{status: http.StatusOK}
			var lines []string
			connection := node.Over(w, func(line string) { lines = append(lines, line) })
			ctx, cancel := context.WithCancel(t.Context())
			var following sync.WaitGroup
			const watches = 10
			for range watches {
				following.Go(func() { follow(ctx, t, connection) })
			}
			synctest.Wait()
			if got := len(w.tried()); got != watches {
				t.Fatalf("%d requests for %d watches", got, watches)
			}
			w.crash()
			synctest.Wait()
			if got := w.tried(); len(got) != 0 {
				t.Fatalf("tried at once: %v", got)
			}
			time.Sleep(time.Minute)
			tries := w.tried()
			if len(tries) < 4 || len(tries) > 15 {
				t.Errorf("tries in a minute: %v", tries)
			}
			firsts = append(firsts, tries[0])
			for i := 1; i < len(tries); i++ {
				if gap := tries[i] - tries[i-1]; gap < time.Second || gap > 17*time.Second {
					t.Errorf("tries %s apart: %v", gap, tries)
				}
			}
			if err := ask(ctx, connection); err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("what does not wait: %v", err)
			}
			if got := w.tried(); len(got) != len(tries) {
				t.Error("what does not wait made a request")
			}
			w.restart()
			time.Sleep(20 * time.Second)
			if got := w.tried(); len(got) != watches {
				t.Errorf("%d requests when it is back: %v", len(got), got)
			}
			if err := ask(ctx, connection); err != nil {
				t.Error(err)
			}
			if len(lines) != 2 || lines[0] != "the server is away, and volumes stay as they are: connection refused" || !strings.HasPrefix(lines[1], "the server is back after ") {
				t.Errorf("lines %q", lines)
			}
			cancel()
			w.crash()
			following.Wait()
		})
	}
	slices.Sort(firsts)
	if first, last := firsts[0], firsts[len(firsts)-1]; last > 5*time.Second || last-first < time.Second {
		t.Errorf("agents are not spread: their first tries were at %v", firsts)
	}
}

// TestWatchEndsInItsTime: a watch that ends when it should is opened again at
// once, and one that the agent itself ends puts nothing in doubt.
func TestWatchEndsInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{status: http.StatusOK}
		connection := node.Over(w, func(line string) { t.Error(line) })
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { follow(ctx, t, connection) })
		synctest.Wait()
		time.Sleep(300*time.Second - 100*time.Millisecond) // by the server's clock it is time
		w.mu.Lock()
		_ = w.open[0].Close()
		w.mu.Unlock()
		synctest.Wait()
		if got := len(w.tried()); got != 2 {
			t.Errorf("%d requests, want the second one at once", got)
		}
		cancel()
		w.mu.Lock()
		_ = w.open[1].Close()
		w.mu.Unlock()
		following.Wait()
		ctx, cancel = context.WithCancel(t.Context())
		following.Go(func() { follow(ctx, t, connection) })
		synctest.Wait()
		if got := len(w.tried()); got != 3 {
			t.Errorf("%d requests, want the third one at once", got)
		}
		cancel()
		w.crash()
		following.Wait()
	})
}

// TestWatchRefused: a server that answers a watch with an error is there, and
// whatever follows comes at once. One whose watch just ends may be gone.
func TestWatchRefused(t *testing.T) {
	for name, test := range map[string]struct {
		says string
		want int
	}{
		"JSON":          {`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}` + "\n", 2},
		"protobuf":      {"\x00\x00\x00\x11\n\x05ERROR\x12\x08\n\x06k8s\x00\n\x00", 2},
		"other events":  {`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","data":{"type":"ERROR"}}}` + "\n", 1},
		"protobuf's":    {"\x00\x00\x00\x16\n\x05ADDED\x12\x0d\n\x0bk8s\x00\nERROR\x00", 1},
		"half an event": {`{"type":"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{status: http.StatusOK, says: test.says}
				connection := node.Over(w, func(line string) { t.Error(line) })
				ctx, cancel := context.WithCancel(t.Context())
				var following sync.WaitGroup
				following.Go(func() { follow(ctx, t, connection) })
				synctest.Wait()
				if got := len(w.tried()); got != test.want {
					t.Errorf("%d requests at once, want %d", got, test.want)
				}
				cancel()
				w.crash()
				following.Wait()
			})
		})
	}
}

// TestServerOverloaded: a server that comes back and cannot take everybody is
// left alone, and one that is there answers for itself.
func TestServerOverloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{status: http.StatusTooManyRequests}
		connection := node.Over(w, nil)
		if err := ask(t.Context(), connection); err != nil {
			t.Errorf("an answer is an answer: %v", err)
		}
		w.crash()
		if err := ask(t.Context(), connection); !errors.Is(err, errRefused) {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var following sync.WaitGroup
		following.Go(func() { follow(ctx, t, connection) })
		w.restart()
		time.Sleep(time.Minute)
		if tries := w.tried(); len(tries) < 4 || len(tries) > 15 {
			t.Errorf("tries in a minute: %v", tries)
		}
		w.mu.Lock()
		w.status = http.StatusOK
		w.mu.Unlock()
		time.Sleep(20 * time.Second)
		if err := ask(ctx, connection); err != nil {
			t.Error(err)
		}
		cancel()
		w.crash()
		following.Wait()
	})
}

// TestComesBack: with a real server that dies and comes back, the agent that was
// there goes on where it was.
func TestComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
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
		_, err := client.CoreV1().Namespaces().List(node.Patiently(t.Context()), metav1.ListOptions{})
		listed <- err
	}()
	servertest.Eventually(t, "the server is found to be away", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(lines) == 1
	})
	port := server.URL()[strings.LastIndex(server.URL(), ":")+1:]
	servertest.Start(t, apiserver.Config{DataDir: dir, Port: number(t, port)})
	if err := <-listed; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "the server is back after ") {
		t.Errorf("lines %q", lines)
	}
	if _, err := node.Connect(&rest.Config{Host: "::"}, nil); err == nil {
		t.Error("a host that is none was accepted")
	}
}
