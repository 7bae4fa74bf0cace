package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"holdfast.dev/holdfast/bench/side"
)

// runReplacement is the command "bench replacement". It kills "holdfast apply --replace" at each of its requests to kube-apiserver, and runs
// it again: the object or a journal must be stored after the first run, and only the new object after the second.
func runReplacement(ctx context.Context, args []string) error {
	var chosen sides
	flags := flag.NewFlagSet("bench replacement", flag.ContinueOnError)
	chosen.register(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if chosen.peer == "" {
		return errors.New("-peer: required")
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := side.Peer(chosen.peer).Start(dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	client, err := server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	r := &replacements{dir: dir, client: client}
	if r.binary, err = filepath.Abs(chosen.holdfast); err != nil {
		return err
	}
	if err := r.listen(); err != nil {
		return err
	}
	return r.run(ctx)
}

// replacements runs the command through a proxy, which sees its requests.
type replacements struct {
	dir, binary string
	client      *side.Client

	mu      sync.Mutex
	process *os.Process
	// at is the number of the request at which the process is killed, 0 for none. handled says that the server gets this request.
	at      int32
	handled bool
	count   atomic.Int32
}

// listen starts the proxy, which authenticates as the administrator, and writes a kubeconfig for it.
func (r *replacements) listen() error {
	target, err := url.Parse(r.client.URL)
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = r.client.HTTP.Transport
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		// The listener ends with the program.
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { //nolint:gosec // only the test connects
			n := r.count.Add(1)
			if r.at == 0 || n < r.at {
				proxy.ServeHTTP(w, req)
				return
			}
			if n == r.at && r.handled {
				proxy.ServeHTTP(discarded{http.Header{}}, req.WithContext(context.WithoutCancel(req.Context())))
			}
			r.kill()
			panic(http.ErrAbortHandler)
		}))
	}()
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: peer, cluster: {server: "http://%s"}}]
contexts: [{name: peer, context: {cluster: peer, user: ""}}]
current-context: peer
`, listener.Addr())
	return os.WriteFile(filepath.Join(r.dir, "proxy.kubeconfig"), []byte(config), 0o600)
}

// discarded is a response that no client reads.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header          { return d.header }
func (discarded) Write(text []byte) (int, error) { return len(text), nil }
func (discarded) WriteHeader(int)                {}

func (r *replacements) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		_ = r.process.Kill() // it may have ended
	}
}

// replaced is the object of all rounds.
const replacedPath = "/api/v1/namespaces/default/configmaps/app"

// run kills the command at each request, before and after the server has handled it.
func (r *replacements) run(ctx context.Context) error {
	// The first run fills the cache of discovery, so that all others send the same requests.
	for _, level := range []string{"0", "1"} {
		if out, err := r.apply(ctx, level, 0); err != nil {
			return fmt.Errorf("apply --replace: %w\n%s", err, out)
		}
	}
	for _, handled := range []bool{false, true} {
		r.handled = handled
		rounds, journals := 0, 0
		for at, more := int32(1), true; more; at++ {
			left, killed, err := r.round(ctx, at)
			if err != nil {
				return fmt.Errorf("killed at request %d, handled %t: %w", at, handled, err)
			}
			rounds++
			if left {
				journals++
			}
			more = killed
		}
		fmt.Printf("killed at each of %d requests, handled %t: the next run finished each replacement, and found a journal %d times\n", rounds-1, handled, journals)
		if journals == 0 {
			return errors.New("no round left a journal")
		}
	}
	return nil
}

// round runs the command, kills it at a request, and runs it again. It reports whether a journal was left, and whether the command was killed.
func (r *replacements) round(ctx context.Context, at int32) (journal, killed bool, err error) {
	if out, err := r.apply(ctx, "1", 0); err != nil {
		return false, false, fmt.Errorf("before: %w\n%s", err, out)
	}
	old, err := r.uid(ctx)
	if err != nil {
		return false, false, err
	}
	out, failed := r.apply(ctx, "2", at)
	killed = r.count.Load() >= at
	if !killed && failed != nil {
		return false, killed, fmt.Errorf("%w\n%s", failed, out)
	}
	open, err := r.journals(ctx)
	if err != nil {
		return false, killed, err
	}
	if _, err := r.uid(ctx); err != nil && open == 0 {
		return false, killed, fmt.Errorf("neither the object nor a journal is stored: %w\n%s", err, out)
	}
	if out, err := r.apply(ctx, "2", 0); err != nil {
		return false, killed, fmt.Errorf("the second run: %w\n%s", err, out)
	}
	created, err := r.uid(ctx)
	if err != nil || created == old {
		return false, killed, fmt.Errorf("after the second run: the UID %s, before %s: %w", created, old, err)
	}
	after, err := r.journals(ctx)
	if err == nil && after != 0 {
		err = fmt.Errorf("%d journals are left after the second run", after)
	}
	return open > 0, killed, err
}

// apply runs the command in a process that is killed at a request.
func (r *replacements) apply(ctx context.Context, level string, at int32) (string, error) {
	file := filepath.Join(r.dir, "app.yaml")
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, namespace: default}\nimmutable: true\ndata: {level: \"" + level + "\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	r.at = at
	r.count.Store(0)
	cmd := exec.CommandContext(ctx, r.binary, "apply", "--replace", "--yes", "-f", file)
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "KUBECONFIG="+filepath.Join(r.dir, "proxy.kubeconfig"))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", err
	}
	r.mu.Lock()
	r.process = cmd.Process
	r.mu.Unlock()
	err := cmd.Wait()
	return out.String(), err
}

// uid returns the UID of the object.
func (r *replacements) uid(ctx context.Context) (string, error) {
	text, err := r.client.Do(ctx, side.Request{Method: http.MethodGet, Path: replacedPath})
	if err != nil {
		return "", err
	}
	var object struct{ Metadata struct{ UID string } }
	err = json.Unmarshal(text, &object)
	return object.Metadata.UID, err
}

// journals returns the number of open journals.
func (r *replacements) journals(ctx context.Context) (int, error) {
	text, err := r.client.Do(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/secrets?labelSelector=holdfast.dev/journal"})
	if err != nil {
		return 0, err
	}
	var list struct{ Items []json.RawMessage }
	err = json.Unmarshal(text, &list)
	return len(list.Items), err
}
