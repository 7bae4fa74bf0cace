package pasttest

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// errKilled is what a request of a dead controller returns.
var errKilled = errors.New("the controller is dead")

// proxy stands between one controller and the server during one run.
type proxy struct {
	faults    faults
	trace     *trace
	run       string
	mayDelete func(path string) bool

	// mu guards the fields below, and changed tells the streams that one of them has changed.
	mu      sync.Mutex
	changed *sync.Cond
	// step is the number of the step of the script, and open says that no watch waits.
	step int
	open bool
	// revisions are the resourceVersions of the past that a list may show.
	revisions []string
	// seen counts the events of each object, and lists the lists of each resource.
	seen, lists   map[string]int
	writes, kills int
	violations    []string
	life          *life
	// late are the writes of dead controllers that the server has not received. finished says that they go on.
	late     sync.WaitGroup
	finished bool
}

// life is the time from a start of the controller until its death.
type life struct {
	proxy  *proxy
	number int
	// dead is closed when the controller dies.
	dead chan struct{}
}

func newProxy(f faults, run string) *proxy {
	p := &proxy{faults: f, trace: newTrace(), run: run, open: true, seen: map[string]int{}, lists: map[string]int{}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// start begins a life of the controller.
func (p *proxy) start() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	number := 1
	if p.life != nil {
		number = p.life.number + 1
	}
	p.life = &life{proxy: p, number: number, dead: make(chan struct{})}
	p.trace.add("start", "the controller, life %d", number)
	return p.life
}

// kill ends the life of the controller. Its watches end, and it sends no further request.
func (p *proxy) kill(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life.kill(reason)
}

// kill is proxy.kill for callers that hold the lock of the proxy.
func (l *life) kill(reason string) {
	if l.isDead() {
		return
	}
	l.proxy.trace.add("kill", "%s", reason)
	close(l.dead)
	l.proxy.changed.Broadcast()
}

func (l *life) isDead() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// config returns a client config of the controller for one life.
func (l *life) config(client *rest.Config) *rest.Config {
	config := rest.CopyConfig(client)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{l, next} })
	return config
}

// setStep begins a step of the script, with the resourceVersion before it.
func (p *proxy) setStep(step int, revision string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.open = step, !p.faults.any(delayed, merged, expired)
	if !slices.Contains(p.revisions, revision) {
		p.revisions = append(p.revisions, revision)
	}
	p.changed.Broadcast()
}

// release lets all watches go on.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = true
	p.changed.Broadcast()
}

// held reports whether the watches of a resource wait. The caller holds the lock.
func (p *proxy) held(resource string) bool {
	return !p.open && p.faults.chance(45, "hold", p.step, resource)
}

// name returns the name of an object without that of the run, so that two runs with the same seed make the same choices.
func (p *proxy) name(text string) string { return strings.ReplaceAll(text, p.run, "RUN") }

// transport sends the requests of one life.
type transport struct {
	life *life
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.life.isDead() {
		return nil, errKilled
	}
	object, ok := parse(req.URL.Path)
	switch {
	case !ok:
		return t.next.RoundTrip(req)
	case req.Method != http.MethodGet:
		return t.write(req, object)
	case req.URL.Query().Get("watch") == "true" || req.URL.Query().Get("watch") == "1":
		return t.watch(req, object)
	case object.name == "":
		return t.list(req, object)
	}
	response, err := t.next.RoundTrip(req)
	if err == nil {
		t.life.proxy.trace.add("get", "%s -> %d", t.life.proxy.name(req.URL.Path), response.StatusCode)
	}
	return response, err
}
