package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	fcrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// script is what one request does.
type script struct {
	path string
	// audited says that the audit log has the request.
	audited bool
	// early and late are the writes before and after the watch is initialized. It is not initialized if never is set.
	early, late int
	never       bool
	// failure is what the handler panics with at its end, or nil.
	failure any
	// refused says that a filter refuses the request.
	refused bool
}

func randomScript(rng *rand.Rand) script {
	paths := []string{
		"/api/v1/namespaces/a/configmaps?watch=true", "/api/v1/configmaps?watch=1&resourceVersion=5", "/api/v1/watch/configmaps",
		"/api/v1/configmaps", "/api/v1/configmaps?labelSelector=watch", "/api/v1/namespaces/a/configmaps/b?watch=true", "/healthz?watch=true",
	}
	failures := []any{nil, nil, nil, nil, http.ErrAbortHandler, "broken"}
	return script{
		path: paths[min(rng.IntN(2*len(paths)), len(paths)-1)*rng.IntN(2)], audited: rng.IntN(4) == 0, early: rng.IntN(3), late: rng.IntN(3), never: rng.IntN(4) == 0,
		failure: failures[rng.IntN(len(failures))], refused: rng.IntN(8) == 0,
	}
}

// outcome is what a client and the filters see of a request.
type outcome struct {
	Status    int
	Body      string
	Header    string
	Broken    bool
	Audited   []string
	Forgotten int
	Waiting   int
	Ended     []string
	Problems  []string
}

// world is one server, with the filters of the library that do something at the end of a request.
type world struct {
	t      *testing.T
	script script

	mu       sync.Mutex
	out      outcome
	watching int
	seatBack chan struct{}
	handed   bool
}

func (w *world) note(change func(o *outcome)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.out)
}

// Add implements filters.RequestWaitGroup.
func (w *world) Add(n int) error {
	w.note(func(o *outcome) { o.Waiting += n })
	return nil
}

// Done implements filters.RequestWaitGroup.
func (w *world) Done() { w.note(func(o *outcome) { o.Waiting-- }) }

// ShuttingDown implements request.ServerShutdownSignal.
func (w *world) ShuttingDown() <-chan struct{} { return nil }

// ProcessEvents implements audit.Sink.
func (w *world) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		w.note(func(o *outcome) {
			code := int32(0)
			if event.ResponseStatus != nil {
				code = event.ResponseStatus.Code
			}
			o.Audited = append(o.Audited, fmt.Sprint(event.Stage, code))
		})
	}
	return true
}

// EvaluatePolicyRule implements audit.PolicyRuleEvaluator.
func (w *world) EvaluatePolicyRule(authorizer.Attributes) audit.RequestAuditConfig {
	if w.script.audited {
		return audit.RequestAuditConfig{Level: auditinternal.LevelMetadata}
	}
	return audit.RequestAuditConfig{Level: auditinternal.LevelNone}
}

// levels is a flow control with a seat for each request.
type levels struct {
	flowcontrol.Interface
	*world
}

func (l levels) Handle(
	_ context.Context, _ flowcontrol.RequestDigest, note func(*flowcontrolv1.FlowSchema, *flowcontrolv1.PriorityLevelConfiguration, string),
	_ func() fcrequest.WorkEstimate, _ fq.QueueNoteFn, execute func(),
) {
	note(&flowcontrolv1.FlowSchema{}, &flowcontrolv1.PriorityLevelConfiguration{}, "")
	if !l.script.refused {
		execute()
		close(l.seatBack)
	}
}

func (l levels) RegisterWatch(*http.Request) flowcontrol.ForgetWatchFunc {
	l.note(func(*outcome) { l.watching++ })
	return func() { l.note(func(o *outcome) { l.watching--; o.Forgotten++ }) }
}

// ServeHTTP is the handler.
func (w *world) ServeHTTP(to http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	isWatch := info.Verb == "watch"
	check := func(when string) {
		w.note(func(o *outcome) {
			if isWatch && (w.watching != 1 || o.Waiting < 1 || req.Context().Err() != nil) {
				o.Problems = append(o.Problems, fmt.Sprint(when, ": watches ", w.watching, " waiting ", o.Waiting, " context ", req.Context().Err()))
			}
		})
	}
	to.Header().Set("X-Verb", info.Verb)
	write := func(n int) {
		for i := range n {
			_, _ = fmt.Fprintf(to, "%d,", i)
			to.(http.Flusher).Flush()
			check("write")
		}
	}
	write(w.script.early)
	if isWatch && !w.script.never {
		flowcontrol.WatchInitialized(req.Context())
		<-w.seatBack // in both forms the seat is free while the watch goes on
	}
	write(w.script.late)
	w.note(func(o *outcome) { o.Ended = append(o.Ended, "handler") })
	check("end")
	if w.script.failure != nil {
		panic(w.script.failure)
	}
}

// run sends the request of a script through the filters in one of both forms.
func run(t *testing.T, s script, quick, http2 bool) (outcome, bool) {
	t.Helper()
	w := &world{t: t, script: s, seatBack: make(chan struct{})}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	long := filters.BasicLongRunningRequestCheck(sets.NewString("watch"), nil)
	var handler http.Handler = w
	var control flowcontrol.Interface = levels{world: w}
	if quick {
		handler = Config{Resolver: resolver, Group: w, IsAudited: true}.into(http.HandlerFunc(func(to http.ResponseWriter, req *http.Request) {
			h := from(req.Context())
			w.note(func(*outcome) { w.handed = h != nil && h.running })
			w.ServeHTTP(to, req)
		}))
		control = counting{control}
	}
	handler = filters.WithPriorityAndFairness(handler, long, control, nil, time.Minute)
	handler = apifilters.WithAudit(handler, w, w, long)
	handler = filters.WithWatchTerminationDuringShutdown(handler, w, w)
	handler = atEnd(handler, func() { w.note(func(o *outcome) { o.Ended = append(o.Ended, "filter") }) })
	handler = withUser(handler)
	handler = apifilters.WithRequestInfo(handler, resolver)
	handler = apifilters.WithRequestReceivedTimestamp(handler)
	handler = filters.WithPanicRecovery(handler, resolver)
	handler = apifilters.WithAuditInit(handler)
	if quick {
		handler = around(handler)
	}
	done := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(to http.ResponseWriter, req *http.Request) {
		defer close(done)
		handler.ServeHTTP(to, req)
	}))
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	response, err := server.Client().Get(server.URL + s.path)
	if err == nil {
		var body []byte
		body, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		w.note(func(o *outcome) {
			o.Status, o.Body, o.Header = response.StatusCode, string(body), response.Header.Get("X-Verb")
		})
	}
	<-done
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Broken = err != nil
	return w.out, w.handed
}

// atEnd is a filter of this project that does something at the end.
func atEnd(next http.Handler, do func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer AtEnd(req.Context(), do)
		WriteTo(req.Context(), w)
		next.ServeHTTP(w, req)
	})
}

func withUser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(w, req.WithContext(request.WithUser(req.Context(), &user.DefaultInfo{Name: "a"})))
	})
}

// TestLikeFilters compares both forms on random requests: what the client gets, what the audit log has, and until when a watch is counted.
func TestLikeFilters(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 300
	handed := 0
	for round := range rounds {
		s, http2 := randomScript(rng), rng.IntN(4) > 0
		plain, _ := run(t, s, false, http2)
		quick, over := run(t, s, true, http2)
		if diff := cmp.Diff(plain, quick); diff != "" {
			t.Fatalf("round %d, %+v (-plain +quick):\n%s", round, s, diff)
		}
		if len(quick.Problems) > 0 || quick.Waiting != 0 {
			t.Fatalf("round %d, %+v: %+v", round, s, quick)
		}
		if over {
			handed++
		}
	}
	if handed < rounds/4 {
		t.Errorf("%d of %d requests were handed over", handed, rounds)
	}
}

// The filters of a watch end when it is initialized, and what they do at the end happens when it ends.
func TestFiltersEndEarly(t *testing.T) {
	var order []string
	filtersEnded, over := make(chan struct{}), make(chan struct{})
	group := &world{}
	handler := Config{Resolver: &request.RequestInfoFactory{}, Group: group}.into(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		flowcontrol.WatchInitialized(req.Context())
		<-filtersEnded
		order = append(order, "handler")
	}))
	inner := atEnd(handler, func() { order = append(order, "filter") })
	outer := around(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer close(filtersEnded)
		inner.ServeHTTP(w, req.WithContext(request.WithRequestInfo(req.Context(), &request.RequestInfo{IsResourceRequest: true, Verb: "watch"})))
	}))
	go func() {
		defer close(over)
		outer.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/?watch=1", http.NoBody))
	}()
	<-over
	if want := []string{"handler", "filter"}; !slices.Equal(order, want) || group.out.Waiting != 0 {
		t.Errorf("order %q, want %q; %d watches are waited for", order, want, group.out.Waiting)
	}
}

// A panic of a filter reaches the goroutine of the request.
func TestPanicOfFilter(t *testing.T) {
	broken := errors.New("broken")
	defer func() {
		if got := recover(); got != broken { //nolint:errorlint // the very value
			t.Errorf("panic with %v, want %v", got, broken)
		}
	}()
	around(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(broken) })).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/?watch=1", http.NoBody))
}
