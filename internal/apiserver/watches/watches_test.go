package watches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	apifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/component-base/metrics/legacyregistry"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func randomEvents(rng *rand.Rand) []watch.Event {
	var events []watch.Event
	for i := range rng.IntN(5) {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i), Namespace: "a", Labels: map[string]string{"<a&b>": "\u2028\xff\"\n"}},
			Data:       map[string]string{"key": string(make([]byte, rng.IntN(3)*50_000))},
		}
		event := watch.Event{Type: []watch.EventType{watch.Added, watch.Modified, watch.Deleted}[rng.IntN(3)], Object: object}
		switch rng.IntN(6) {
		case 0:
			event = watch.Event{Type: watch.Bookmark, Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}}
		case 1:
			event = watch.Event{Type: watch.Bookmark, Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				ResourceVersion: "7", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
			}}}
		case 2:
			status := apierrors.NewResourceExpired("too old").Status()
			event = watch.Event{Type: watch.Error, Object: &status}
		case 3, 4:
			event.Object = cached{object, &sync.Mutex{}, map[runtime.Identifier][]byte{}}
		}
		events = append(events, event)
	}
	return events
}

func randomRequest(rng *rand.Rand, host string) *http.Request {
	pick := func(usual string, others ...string) string {
		if rng.IntN(3) > 0 {
			return usual
		}
		return others[rng.IntN(len(others))]
	}
	query := url.Values{"watch": {pick("true", "1", "0", "x")}}
	for name, values := range map[string][]string{
		"resourceVersion":      {"5", "0", "", "x"},
		"fieldSelector":        {"metadata.name=a", "metadata.name=a,metadata.namespace=b", "spec.x=1", "metadata.name!=a", "=="},
		"labelSelector":        {"a=b", "a in (b,c)", "!a", "a b"},
		"allowWatchBookmarks":  {"true", "false"},
		"sendInitialEvents":    {"true", "false"},
		"resourceVersionMatch": {"NotOlderThan", "Exact"},
		"timeoutSeconds":       {"3600", "0", "x"},
		"limit":                {"5"},
	} {
		if rng.IntN(6) == 0 {
			query.Set(name, values[rng.IntN(len(values))])
		}
	}
	path := pick("/api/v1/namespaces/a/configmaps", "/api/v1/configmaps", "/api/v1/watch/configmaps", "/api/v1/namespaces/a/configmaps/a",
		"/api/v1/watch/namespaces/a/configmaps/a")
	req, err := http.NewRequest(http.MethodGet, host+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		panic(err)
	}
	if accept := pick("", "application/json", "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json;q=0.5",
		"application/json;stream=watch", "application/yaml", "text/html", "application/json;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"); accept != "" {
		req.Header.Set("Accept", accept)
	}
	// Without this header, the client of Go asks for gzip.
	req.Header.Set("Accept-Encoding", pick("identity", "gzip"))
	return req
}

// answered is what a client gets.
type answered struct {
	Status       int
	Type, Coding string
	Body         string
	Open         int
	Asked        []internalversion.ListOptions
	// Counted are the metrics of requests and watches, without those of time.
	Counted map[string]float64
}

// ask sends a request to a handler.
func ask(t *testing.T, s *source, handler http.Handler, send func(host string) *http.Request) answered {
	t.Helper()
	s.asked, s.watching = nil, 0
	for _, event := range s.events {
		if object, ok := event.Object.(cached); ok {
			clear(object.texts)
		}
	}
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	before := counted(t)
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer close(over)
		apifilters.WithRequestReceivedTimestamp(apifilters.WithRequestInfo(handler, resolver)).ServeHTTP(w, req)
	}))
	defer server.Close()
	response, err := server.Client().Do(send(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	<-over
	changes := map[string]float64{}
	for name, value := range counted(t) {
		if value != before[name] {
			changes[name] = value - before[name]
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return answered{
		response.StatusCode, response.Header.Get("Content-Type"), response.Header.Get("Content-Encoding"), string(body), s.watching, s.asked, changes,
	}
}

// counted returns the metrics of requests and watches: the values of counters and gauges, the number of values of histograms, and the sums of sizes.
func counted(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		name := family.GetName()
		if !strings.HasPrefix(name, "apiserver_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			key := fmt.Sprint(name, metric.GetLabel())
			switch {
			case metric.GetHistogram() != nil:
				values[key] = float64(metric.GetHistogram().GetSampleCount())
				if strings.Contains(name, "sizes") {
					values[key+" sum"] = metric.GetHistogram().GetSampleSum()
				}
			case metric.GetCounter() != nil:
				values[key] = metric.GetCounter().GetValue()
			case metric.GetGauge() != nil:
				values[key] = metric.GetGauge().GetValue()
			}
		}
	}
	return values
}

// newTested returns a server with ConfigMaps, and the handler of the library for them.
func newTested(t *testing.T, s *source) (*Server, http.Handler) {
	t.Helper()
	scheme := runtime.NewScheme()
	metrics.Register()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	s.TableConvertor = rest.NewDefaultTableConvertor(corev1.Resource("configmaps"))
	server := newServer(time.Hour)
	if err := server.Add(configMaps, s, Codecs{scheme, serializer.NewCodecFactory(scheme)}); err != nil {
		t.Fatal(err)
	}
	list := handlers.ListResource(s, s, server.resources[configMaps].scope, false, time.Hour)
	return server, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// The installer of the library has a route for each scope.
		scope := "cluster"
		if info, ok := request.RequestInfoFrom(req.Context()); ok && info.Namespace != "" {
			scope = "namespace"
		}
		metrics.InstrumentHandlerFunc("LIST", "", "v1", "configmaps", "", scope, metrics.APIServerComponent, false, "", list)(w, req)
	})
}

// TestLikeLibrary compares both forms on random events and requests: the whole answer, the options that the storage gets, and the metrics.
func TestLikeLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rounds = 400
	served := 0
	for round := range rounds {
		s := &source{events: randomEvents(rng)}
		if rng.IntN(10) == 0 {
			s.err = []error{apierrors.NewResourceExpired("too old"), errors.New("broken"), apierrors.NewBadRequest("no")}[rng.IntN(3)]
		}
		server, library := newTested(t, s)
		var last *http.Request
		plain := ask(t, s, library, func(host string) *http.Request {
			last = randomRequest(rng, host)
			return last
		})
		quickly := true
		quick := ask(t, s, server.wrap(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			quickly = false
			library.ServeHTTP(w, req)
		})), func(host string) *http.Request {
			again := last.Clone(t.Context())
			to, err := url.Parse(host)
			if err != nil {
				t.Fatal(err)
			}
			again.URL.Host, again.Host = to.Host, to.Host
			return again
		})
		if diff := cmp.Diff(plain, quick, cmp.Comparer(same)); diff != "" {
			t.Fatalf("round %d, %s, accept %q (-library +quick):\n%s", round, last.URL, last.Header.Get("Accept"), diff)
		}
		if quickly && quick.Status == http.StatusOK {
			served++
		}
		// The library leaves a watch open for which it has no stream.
		if quickly && quick.Open != 0 {
			t.Fatalf("round %d: %d watches of the storage are open", round, quick.Open)
		}
	}
	if served < rounds/5 {
		t.Errorf("%d of %d watches were served without the library", served, rounds)
	}
}

// same compares options by what they select.
func same(a, b internalversion.ListOptions) bool {
	text := func(o internalversion.ListOptions) string {
		fields, labels, list := "", "", "unset"
		if o.FieldSelector != nil {
			fields = o.FieldSelector.String()
		}
		if o.LabelSelector != nil {
			labels = o.LabelSelector.String()
		}
		if o.SendInitialEvents != nil {
			list = fmt.Sprint(*o.SendInitialEvents)
		}
		return fmt.Sprint(fields, labels, o.Watch, o.AllowWatchBookmarks, o.ResourceVersion, o.ResourceVersionMatch, list, o.Limit)
	}
	return text(a) == text(b)
}

// A watch ends at its timeout, when its client goes, and when the server shuts down.
func TestEnds(t *testing.T) {
	for name, row := range map[string]struct {
		query string
		end   func(cancel, shutdown func())
	}{
		"timeout":  {query: "&timeoutSeconds=1", end: func(func(), func()) {}},
		"client":   {end: func(cancel, _ func()) { cancel() }},
		"shutdown": {end: func(_, shutdown func()) { shutdown() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := &source{}
			server, _ := newTested(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			down := make(signal)
			req := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/ends/configmaps?watch=true"+row.query, http.NoBody)
			ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
				IsResourceRequest: true, Verb: "watch", APIVersion: "v1", Resource: "configmaps", Namespace: "ends", Parts: []string{"configmaps"},
			})
			req = req.WithContext(request.WithServerShutdownSignal(ctx, down))
			over := make(chan struct{})
			go func() {
				defer close(over)
				server.wrap(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), req)
			}()
			row.end(cancel, func() { close(down) })
			<-over
			if s.watching != 0 || len(s.asked) != 1 {
				t.Errorf("%d watches of the storage are open, %d were opened", s.watching, len(s.asked))
			}
		})
	}
}

// Requests for which the library has no route, or one of its own.
func TestOthers(t *testing.T) {
	usual := request.RequestInfo{IsResourceRequest: true, Verb: "watch", APIVersion: "v1", Resource: "configmaps", Parts: []string{"configmaps"}}
	for name, change := range map[string]func(req *http.Request, info *request.RequestInfo, r *resource){
		"HEAD": func(req *http.Request, _ *request.RequestInfo, _ *resource) { req.Method = http.MethodHead },
		"namespace of a node": func(_ *http.Request, info *request.RequestInfo, r *resource) {
			info.Namespace, r.namespaced = "a", false
		},
		"a part behind": func(_ *http.Request, info *request.RequestInfo, _ *resource) {
			info.Parts = []string{"configmaps", "a"}
		},
		"another version": func(_ *http.Request, info *request.RequestInfo, _ *resource) { info.APIVersion = "v2" },
		"a list":          func(_ *http.Request, info *request.RequestInfo, _ *resource) { info.Verb = "list" },
		"the path of a watch": func(req *http.Request, _ *request.RequestInfo, _ *resource) {
			req.URL.Path = "/api/v1/watch/configmaps"
		},
		"a websocket": func(req *http.Request, _ *request.RequestInfo, _ *resource) {
			req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
		},
		"nothing, to be served": func(*http.Request, *request.RequestInfo, *resource) {},
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := newTested(t, &source{})
			req, info := httptest.NewRequest(http.MethodGet, "/api/v1/configmaps?watch=true", http.NoBody), usual
			change(req, &info, server.resources[configMaps])
			others := false
			server.wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { others = true })).
				ServeHTTP(httptest.NewRecorder(), req.WithContext(request.WithRequestInfo(t.Context(), &info)))
			if want := !strings.HasPrefix(name, "nothing"); others != want {
				t.Errorf("served by others: %v, want %v", others, want)
			}
		})
	}
}

// signal is closed when the server shuts down.
type signal chan struct{}

// ShuttingDown implements request.ServerShutdownSignal.
func (s signal) ShuttingDown() <-chan struct{} { return s }
