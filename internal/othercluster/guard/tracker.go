package guard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/broadcast"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/policy"
)

// retryInterval is the time after which a table is compiled again that could not be compiled.
const retryInterval = time.Second

// labelsTimeout bounds the read of a namespace during a review.
const labelsTimeout = 2 * time.Second

// tracker keeps the table of rules up to date.
type tracker struct {
	policy.Compiler
	server                            *connection.Connection
	definitions, namespaces, policies cache.SharedIndexInformer
	// changed has a value if a source has changed.
	changed chan struct{}
	current atomic.Pointer[policy.Table]

	mu sync.Mutex
	// updated is sent when current changes.
	updated broadcast.Signal
}

func newTracker(server *connection.Connection, compiler policy.Compiler) *tracker {
	namespaces := runtimeschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	indexers := cache.Indexers{}
	t := &tracker{
		Compiler: compiler, server: server,
		definitions: metadatainformer.NewFilteredMetadataInformer(server.Metadata, definitions(), "", 0, indexers, fresh).Informer(),
		namespaces:  metadatainformer.NewFilteredMetadataInformer(server.Metadata, namespaces, "", 0, indexers, fresh).Informer(),
		policies:    dynamicinformer.NewFilteredDynamicInformer(server.Dynamic, policy.Policies(), "", 0, indexers, fresh).Informer(),
		changed:     make(chan struct{}, 1),
	}
	return t
}

// fresh changes the first list of an informer: it asks for the newest objects. Informers accept objects of any age from the cache of an API
// server, and a guard that has just started would not know rules that were in force before.
func fresh(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
}

// run follows the sources until ctx ends.
func (t *tracker) run(ctx context.Context) {
	notify := func(any) {
		select {
		case t.changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, obj any) { notify(obj) }, DeleteFunc: notify}
	var informers sync.WaitGroup
	defer informers.Wait()
	for _, informer := range []cache.SharedIndexInformer{t.definitions, t.namespaces, t.policies} {
		if informer != t.namespaces {
			if _, err := informer.AddEventHandler(handler); err != nil {
				klog.ErrorS(err, "rules are not updated")
			}
		}
		informers.Go(func() { informer.RunWithContext(ctx) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), t.definitions.HasSynced, t.namespaces.HasSynced, t.policies.HasSynced) {
		return
	}
	for ctx.Err() == nil {
		t.compileCurrent(ctx)
		select {
		case <-ctx.Done():
		case <-t.changed:
		}
	}
}

// compileCurrent compiles the table from the informers, and repeats that while the API server fails.
func (t *tracker) compileCurrent(ctx context.Context) {
	for ctx.Err() == nil {
		compiled, err := t.Compile(ctx, t.inputs())
		if err == nil {
			for name, problems := range compiled.Problems {
				for _, problem := range problems {
					klog.InfoS("a rule without effect", "definition", name, "problem", problem)
				}
			}
			t.mu.Lock()
			t.current.Store(compiled)
			t.updated.Send()
			t.mu.Unlock()
			return
		}
		klog.ErrorS(err, "the last rules stay in force")
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

// inputs returns the sources in the informers. It also names the definitions that the last table has rules of: if one is deleted, another one
// of the same name may be stored already, of which the watch shows only the deletion. Compile reads all of them.
func (t *tracker) inputs() policy.Inputs {
	var in policy.Inputs
	if current := t.current.Load(); current != nil {
		for name, from := range sourcesOf(current) {
			if from.Policy == "" && !t.defines(name.String()) {
				in.Annotated = append(in.Annotated, name.String())
			}
		}
		slices.Sort(in.Annotated)
		in.Annotated = slices.Compact(in.Annotated)
	}
	for _, obj := range t.definitions.GetStore().List() {
		if meta, ok := obj.(*metav1.PartialObjectMetadata); ok && meta.Annotations[immutability.Annotation] != "" {
			in.Annotated = append(in.Annotated, meta.Name)
		}
	}
	for _, obj := range t.policies.GetStore().List() {
		if found, ok := obj.(*unstructured.Unstructured); ok {
			in.Add(found)
		}
	}
	return in
}

// wait waits for the first table.
func (t *tracker) wait(ctx context.Context) error {
	for {
		current, next := t.latest()
		if current != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}

// latest returns the table, nil if there is none yet, and a channel that is closed when it changes.
func (t *tracker) latest() (*policy.Table, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current.Load(), t.updated.Next()
}

// resource returns the rules of a resource, nil if it is not guarded. If this replica knows no rules, it
// may be behind the leader, because of which the API server asks. It then reads the sources.
func (t *tracker) resource(ctx context.Context, name runtimeschema.GroupResource) (*policy.Resource, error) {
	if found := t.current.Load().Resources[name]; found != nil {
		return found, nil
	}
	live, err := t.live(ctx, []string{name.String()})
	if err != nil {
		return nil, err
	}
	return live.Resources[name], nil
}

// live reads the policies and definitions, and returns their rules.
func (t *tracker) live(ctx context.Context, annotated []string) (*policy.Table, error) {
	in := policy.Inputs{Annotated: annotated}
	listed, err := t.server.Dynamic.Resource(policy.Policies()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	for i := range listed.Items {
		in.Add(&listed.Items[i])
	}
	return t.Compile(ctx, in)
}

// defines reports whether the cluster has a definition.
func (t *tracker) defines(name string) bool {
	_, known, err := t.definitions.GetStore().GetByKey(name)
	return err == nil && known
}

// exists reports whether a namespace or a definition exists. It reads one that this replica does not know: its watch may be behind the
// webhook configuration, which names the holder.
func (t *tracker) exists(ctx context.Context, h holder) bool {
	informer := t.namespaces
	if h.resource == definitionsResource {
		informer = t.definitions
	}
	_, known, err := informer.GetStore().GetByKey(h.name)
	return err == nil && known || t.isStored(ctx, h)
}

// stays reads whether a definition exists and is not being deleted. It returns false if the API server does not answer.
func (t *tracker) stays(ctx context.Context, definition string) bool {
	found, err := t.server.Metadata.Resource(definitions()).Get(ctx, definition, metav1.GetOptions{})
	return err == nil && found.DeletionTimestamp == nil
}

// isStored reads whether a namespace or a definition exists. It returns true if the API server does not answer.
func (t *tracker) isStored(ctx context.Context, h holder) bool {
	resource := corev1.SchemeGroupVersion.WithResource(namespacesResource)
	if h.resource == definitionsResource {
		resource = definitions()
	}
	_, err := t.server.Metadata.Resource(resource).Get(ctx, h.name, metav1.GetOptions{})
	return !apierrors.IsNotFound(err)
}

// terminating reports whether a namespace is being deleted, as far as this replica knows.
func (t *tracker) terminating(namespace string) bool {
	obj, known, err := t.namespaces.GetStore().GetByKey(namespace)
	meta, ok := obj.(*metav1.PartialObjectMetadata)
	return err == nil && known && ok && meta.DeletionTimestamp != nil
}

// labelsOf returns the labels of a namespace. It reads a namespace that this replica does not know yet.
func (t *tracker) labelsOf(namespace string) (labels.Set, error) {
	obj, known, err := t.namespaces.GetStore().GetByKey(namespace)
	if err != nil {
		return nil, err
	}
	if meta, ok := obj.(*metav1.PartialObjectMetadata); known && ok {
		return meta.Labels, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), labelsTimeout)
	defer cancel()
	found, err := t.server.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(namespacesResource)).Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		// A client would take NotFound for an answer about the object.
		return nil, apierrors.NewInternalError(fmt.Errorf("labels of namespace %s: %w", namespace, err))
	}
	return found.Labels, nil
}
