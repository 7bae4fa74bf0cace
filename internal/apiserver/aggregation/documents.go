package aggregation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/openapiconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	// refreshDocuments is how often this server reads the documents of another one.
	refreshDocuments = time.Minute
	// documentReaders is the number of workers that read documents. A server that does not
	// answer occupies a worker for 20 seconds: fetchTimeout for each of its two documents.
	documentReaders = 4
)

// Publisher publishes the OpenAPI documents of other servers beside those of this one.
type Publisher interface {
	// SetV3 publishes the v3 document of a group version.
	SetV3(gv schema.GroupVersion, document *spec3.OpenAPI)
	// RemoveV3 removes the document that SetV3 published.
	RemoveV3(gv schema.GroupVersion)
	// SetV2 merges the documents into the v2 document, in place of those of the last call.
	SetV2(documents []*spec.Swagger)
}

// documents reads the OpenAPI documents of other servers in the background, so that a server
// that does not answer delays no client. If it stops answering, its last documents stay.
//
// The library has controllers for this, but they hold a lock while they wait for another
// server, and every request for an OpenAPI document needs that lock.
type documents struct {
	publisher Publisher
	loop      *reconcile.Loop[string]

	mu      sync.Mutex
	proxies map[string]*proxy
	// read has the last documents by the name of the APIService.
	read map[string]*openAPI
}

// openAPI are the documents of one remote APIService, with their entity tags.
type openAPI struct {
	gv           schema.GroupVersion
	tagV2, tagV3 string
	v2           *spec.Swagger
}

func newDocuments(publisher Publisher) *documents {
	d := &documents{publisher: publisher, proxies: map[string]*proxy{}, read: map[string]*openAPI{}}
	d.loop = reconcile.New(reconcile.Config[string]{
		Reconcile: d.reconcile, Workers: documentReaders, FirstRetry: time.Second, LastRetry: refreshDocuments,
		Log: func(_ context.Context, name string, err error) {
			klog.V(2).InfoS("OpenAPI documents of an aggregated API cannot be read", "APIService", name, "err", err)
		},
	})
	return d
}

func (d *documents) run(ctx context.Context) { d.loop.Run(ctx) }

// set registers the proxy of an APIService; nil removes it.
func (d *documents) set(name string, p *proxy) {
	d.mu.Lock()
	if p == nil {
		delete(d.proxies, name)
	} else {
		d.proxies[name] = p
	}
	d.mu.Unlock()
	d.loop.Add(name)
}

// reconcile reads the documents of one APIService and publishes those that changed.
func (d *documents) reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	d.mu.Lock()
	p, last := d.proxies[name], d.read[name]
	d.mu.Unlock()
	if p == nil {
		d.remove(name, last)
		return reconcile.Result{}, nil
	}
	if !p.isAvailable() {
		// When the APIService becomes available, the update of its status enqueues it again.
		return reconcile.Result{}, nil
	}
	next := openAPI{gv: p.groupVersion()}
	if last != nil {
		next = *last
	}
	err := errors.Join(d.readV2(asReader(ctx), p, &next), d.readV3(asReader(ctx), p, &next))
	d.store(name, &next)
	return reconcile.Result{After: refreshDocuments}, err
}

// readV2 reads the v2 document. It keeps the paths of the APIService only: another server
// cannot describe the kinds of this one.
func (d *documents) readV2(ctx context.Context, p *proxy, into *openAPI) error {
	answer, err := p.fetchDocument(ctx, "/openapi/v2", into.tagV2)
	if err != nil || answer.status == http.StatusNotModified {
		return err
	}
	if answer.status == http.StatusNotFound {
		into.v2, into.tagV2 = nil, ""
		return nil
	}
	swagger := &spec.Swagger{}
	if err := swagger.UnmarshalJSON(answer.body); err != nil {
		return fmt.Errorf("decode OpenAPI v2: %w", err)
	}
	filtered := aggregator.FilterSpecByPathsWithoutSideEffects(swagger, []string{"/apis/" + into.gv.String() + "/"})
	if err := checkEncodings(filtered, handler.ToProtoBinary); err != nil {
		return fmt.Errorf("encode OpenAPI v2: %w", err)
	}
	into.v2, into.tagV2 = filtered, answer.header.Get("Etag")
	return nil
}

// readV3 reads and publishes the v3 document. If the other server has no v3 document, readV3
// converts its v2 document and publishes that.
func (d *documents) readV3(ctx context.Context, p *proxy, into *openAPI) error {
	answer, err := p.fetchDocument(ctx, "/openapi/v3/apis/"+into.gv.String(), into.tagV3)
	if err != nil || answer.status == http.StatusNotModified {
		return err
	}
	if answer.status == http.StatusNotFound {
		if into.tagV3 = ""; into.v2 != nil {
			d.publisher.SetV3(into.gv, openapiconv.ConvertV2ToV3(into.v2))
		}
		return nil
	}
	document := &spec3.OpenAPI{}
	if err := document.UnmarshalJSON(answer.body); err != nil {
		return fmt.Errorf("decode OpenAPI v3: %w", err)
	}
	if err := checkEncodings(document, handler3.ToV3ProtoBinary); err != nil {
		return fmt.Errorf("encode OpenAPI v3: %w", err)
	}
	d.publisher.SetV3(into.gv, document)
	into.tagV3 = answer.header.Get("Etag")
	return nil
}

// checkEncodings returns an error for a document that this server could not send as JSON and as
// protobuf. The server encodes all v2 documents as one, and the list of v3 documents has a hash
// of each: a single document that it cannot encode would make these answers fail for all groups.
func checkEncodings(document json.Marshaler, protobuf func(json []byte) ([]byte, error)) error {
	encoded, err := document.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = protobuf(encoded)
	return err
}

// store records the documents of an APIService. If the v2 document changed, it publishes the v2
// documents of all APIServices.
func (d *documents) store(name string, next *openAPI) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.read[name]
	d.read[name] = next
	if last == nil || last.v2 != next.v2 {
		d.publishV2()
	}
}

// remove removes the documents of an APIService that is gone.
func (d *documents) remove(name string, last *openAPI) {
	if last == nil {
		return
	}
	d.publisher.RemoveV3(last.gv)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.read, name)
	d.publishV2()
}

// publishV2 publishes the v2 documents in the order of the names. The caller holds mu.
func (d *documents) publishV2() {
	var all []*spec.Swagger
	for _, name := range slices.Sorted(maps.Keys(d.read)) {
		if document := d.read[name].v2; document != nil {
			all = append(all, document)
		}
	}
	d.publisher.SetV2(all)
}

// fetchDocument reads a JSON document. If the document still has the entity tag, the status of
// the answer is 304 and the body is empty.
func (p *proxy) fetchDocument(ctx context.Context, path, tag string) (document, error) {
	header := http.Header{"Accept": {"application/json"}}
	if tag != "" {
		header.Set("If-None-Match", tag)
	}
	answer, err := p.fetch(ctx, path, header)
	if err != nil {
		return document{}, err
	}
	switch answer.status {
	case http.StatusOK, http.StatusNotModified, http.StatusNotFound:
		return answer, nil
	}
	return document{}, fmt.Errorf("get %s: status %d", path, answer.status)
}
