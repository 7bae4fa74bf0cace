package answer

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"holdfast.dev/holdfast/internal/apiserver/bounded"
	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/yamltest"
)

const ships = `
metadata: {name: ships.sea.example.com}
spec:
  group: sea.example.com
  names: {kind: Ship, plural: ships}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Note, type: string, jsonPath: .spec.note}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {size: {type: integer}, note: {type: string}}}
          status: {type: object, properties: {ready: {type: boolean}}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
status:
  acceptedNames: {kind: Ship, listKind: ShipList, plural: ships, singular: ship}
`

// world is a compiled kind, and the format of its texts.
type world struct {
	v1, v2 *kind.Version
	format text.Format
	sets   *fieldset.Sets
}

func newWorld(t testing.TB) world {
	t.Helper()
	crd := yamltest.Decode[definition.CustomResourceDefinition](t, ships)
	converters, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var w world
	w.sets, w.format = fieldset.New()
	k := kind.New(crd, &kind.Config{Converters: converters, Sets: w.sets, Observe: func(time.Time, error) {}})
	if err := k.Compile(); err != nil {
		t.Fatal(err)
	}
	w.v1, w.v2 = k.Versions["v1"], k.Versions["v2"]
	return w
}

// endpoint is the endpoint of a version, with the handlers of the library for GET, LIST and WATCH.
type endpoint struct {
	scope *handlers.RequestScope
	reads Reads
}

func (w world) endpoint(t testing.TB, v *kind.Version, with form) endpoint {
	t.Helper()
	scheme := runtime.NewScheme()
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	scheme.AddUnversionedTypes(unversioned, &metav1.Status{}, &metav1.WatchEvent{})
	options := runtime.NewScheme()
	options.AddUnversionedTypes(v.GroupVersion(), &metav1.ListOptions{}, &metav1.GetOptions{})
	typer := object.NewTyper(options)
	table, err := tableconvertor.New(v.Spec.AdditionalPrinterColumns)
	if err != nil {
		t.Fatal(err)
	}
	serializer := NewSerializer(v, typer, &Shared{format: w.format, scheme: scheme, form: with})
	scope := &handlers.RequestScope{
		Namer:      handlers.ContextBasedNaming{Namer: meta.NewAccessor()},
		Serializer: serializer, ParameterCodec: runtime.NewParameterCodec(options), StandardSerializers: serializer.Standard(),
		Creater: object.Creater{}, Convertor: v.Kind.Convertor, Defaulter: v.Kind.Convertor, Typer: typer,
		UnsafeConvertor: kind.Unsafe{Convertor: v.Kind.Convertor},
		Resource:        v.GroupVersion().WithResource("ships"), Kind: v.GroupVersionKind(), HubGroupVersion: v.GroupVersion(),
		MetaGroupVersion: metav1.SchemeGroupVersion, TableConvertor: table,
	}
	return endpoint{scope: scope, reads: NewReads(scope)}
}

// stored are the objects and the events that a handler of the library reads.
type stored struct {
	rest.TableConvertor
	list   *object.List
	events []watch.Event
}

func (s stored) NewList() runtime.Object { return object.NewList(s.list.GroupVersionKind()) }

// Get implements rest.Getter.
func (s stored) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return s.list.Items[0].Copy(), nil
}

// List implements rest.Lister.
func (s stored) List(context.Context, *internalversion.ListOptions) (runtime.Object, error) {
	return s.list.DeepCopyObject(), nil
}

// Watch implements rest.Watcher. The watch ends after the events.
func (s stored) Watch(context.Context, *internalversion.ListOptions) (watch.Interface, error) {
	out := watch.NewFakeWithChanSize(len(s.events), false)
	for _, event := range s.events {
		out.Action(event.Type, event.Object.DeepCopyObject())
	}
	out.Stop()
	return out, nil
}

// query is a request for the objects of an endpoint.
type query struct {
	verb, accept, encoding, params string
	ctx                            context.Context
}

// reply is the answer to a query, without compression.
type reply struct {
	Code           int
	Body, Encoding string
	ContentType    string
}

// ask lets the handler of the library answer a query.
func (e endpoint) ask(t testing.TB, q query, from stored) reply {
	t.Helper()
	w := httptest.NewRecorder()
	e.send(t, q, from, w)
	out := reply{Code: w.Code, Encoding: w.Header().Get("Content-Encoding"), ContentType: w.Header().Get("Content-Type")}
	out.Body = w.Body.String()
	if out.Encoding == "gzip" {
		out.Body = unzip(t, w.Body)
	}
	return out
}

// send is ask, with a writer for the answer.
func (e endpoint) send(t testing.TB, q query, from stored, w http.ResponseWriter) {
	t.Helper()
	info := &request.RequestInfo{
		IsResourceRequest: true, Verb: q.verb, APIGroup: "sea.example.com", APIVersion: e.scope.Kind.Version, Resource: "ships",
		Namespace: "default",
	}
	if q.verb == "get" {
		info.Name = "a"
	}
	ctx := q.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	ctx = request.WithNamespace(request.WithRequestInfo(ctx, info), info.Namespace)
	req := (&http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: q.params}, Header: http.Header{}, Proto: "HTTP/2.0", ProtoMajor: 2,
	}).WithContext(ctx)
	req.Header.Set("Accept", q.accept)
	req.Header.Set("Accept-Encoding", q.encoding)
	scope, req := e.reads.For(w, req, q.verb)
	switch q.verb {
	case "get":
		handlers.GetResource(from, scope)(w, req)
	case "list":
		handlers.ListResource(from, from, scope, false, time.Minute)(w, req)
	case "watch":
		handlers.ListResource(from, from, scope, true, time.Minute)(w, req)
	}
}

// unzip returns the text of one gzip member with nothing after it.
func unzip(t testing.TB, data *bytes.Buffer) string {
	t.Helper()
	member, err := gzip.NewReader(data)
	if err != nil {
		t.Fatal(err)
	}
	member.Multistream(false)
	text, err := io.ReadAll(member)
	if err != nil || data.Len() > 0 {
		t.Fatalf("%d bytes follow the compressed answer: %v", data.Len(), err)
	}
	return string(text)
}

// figure returns the value of a metric of the texts.
func (q *quick) figure(t testing.TB, name string) int {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(bounded.Collector(q.caches()...))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if metric := family.GetMetric()[0]; strings.HasSuffix(family.GetName(), name) {
			return int(metric.GetGauge().GetValue() + metric.GetCounter().GetValue())
		}
	}
	t.Fatalf("there is no metric with the name %s", name)
	return 0
}
