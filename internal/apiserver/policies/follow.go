package policies

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/policy"
)

const (
	// component is the name of the server in Events.
	component = "holdfast"
	// servedPoll is the interval at which Run looks whether the kind of policies is served.
	servedPoll = 100 * time.Millisecond
)

// Sources are what Run follows.
type Sources struct {
	// Dynamic reads the policies through the API of the server: they are custom resources.
	Dynamic dynamic.Interface
	// Definition returns a definition that is served, nil if there is none.
	Definition func(name runtimeschema.GroupResource) *definition.CustomResourceDefinition
	// DefinitionsRead is closed when the stored definitions are served.
	DefinitionsRead <-chan struct{}
}

// Loaded waits until the rules are in force.
func (r *Rules) Loaded(ctx context.Context) {
	select {
	case <-r.loaded:
	case <-ctx.Done():
	}
}

// Run keeps the table up to date until ctx ends.
func (r *Rules) Run(ctx context.Context, from Sources) {
	select {
	case <-from.DefinitionsRead:
	case <-ctx.Done():
		return
	}
	compiler := policy.Compiler{
		Server:       &sources{models: r.config.Models, definition: from.Definition, expanded: map[runtimeschema.GroupResource]any{}},
		PoliciesOnly: true, Excluded: r.excludes,
	}
	r.compiler.Store(&compiler)
	go r.files.follow(ctx, r.Changed)
	if !r.awaitKind(ctx, from.Dynamic, compiler) {
		return
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(from.Dynamic, policy.Policies(), "", 0, cache.Indexers{}, nil).Informer()
	notify := func(any) { r.Changed() }
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, obj any) { notify(obj) }, DeleteFunc: notify,
	})
	if err != nil {
		klog.ErrorS(err, "ImmutabilityPolicies are not followed")
		return
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return
	}
	r.events.Store(policy.NewEvents(ctx, r.config.Client, informer.GetStore(), component))
	for ctx.Err() == nil {
		var stored []*unstructured.Unstructured
		for _, obj := range informer.GetStore().List() {
			if found, ok := obj.(*unstructured.Unstructured); ok {
				stored = append(stored, found)
			}
		}
		r.compile(ctx, compiler, stored)
		select {
		case <-ctx.Done():
		case <-r.changed:
		}
	}
}

// awaitKind waits until the kind of policies is served. Until then there are only the policies of files. It returns false if ctx
// ends.
func (r *Rules) awaitKind(ctx context.Context, client dynamic.Interface, compiler policy.Compiler) bool {
	for ctx.Err() == nil {
		_, err := client.Resource(policy.Policies()).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err == nil:
			return true
		case apierrors.IsNotFound(err):
			r.compile(ctx, compiler, nil)
		default:
			klog.ErrorS(err, "ImmutabilityPolicies are not read yet")
		}
		select {
		case <-ctx.Done():
		case <-time.After(servedPoll):
		}
	}
	return false
}

// compile makes a table of the stored policies and of those in files.
func (r *Rules) compile(ctx context.Context, compiler policy.Compiler, stored []*unstructured.Unstructured) {
	read := r.files.latest()
	in := policy.Inputs{Policies: read.policies()}
	for _, obj := range stored {
		if read.files[obj.GetName()] == nil && !isFromFile(obj) {
			in.Add(obj)
		}
	}
	compiled, err := compiler.Compile(ctx, in)
	if err != nil {
		klog.ErrorS(err, "the last ImmutabilityPolicies stay in force")
		return
	}
	t := &table{Table: compiled, files: read.names()}
	for _, each := range in.Policies {
		t.addSelecting(each)
	}
	for _, obj := range stored {
		t.reportFile(obj, read)
	}
	r.set(t)
}

// excludes reports whether a policy may not guard a resource. Policies of files may guard all but Leases and Events.
func (r *Rules) excludes(of *policy.ImmutabilityPolicy, resource runtimeschema.GroupResource) bool {
	if of.Annotations[SourceAnnotation] == sourceFile {
		return neverInFiles(resource)
	}
	return policy.Excluded(resource)
}

// neverInFiles reports whether a policy in a file may not guard a resource: the server could not elect a leader, or record Events.
func neverInFiles(resource runtimeschema.GroupResource) bool {
	return slices.Contains([]runtimeschema.GroupResource{
		{Group: "coordination.k8s.io", Resource: "leases"}, {Resource: "events"}, {Group: "events.k8s.io", Resource: "events"},
	}, resource)
}

// Settle waits until this server enforces a policy as it was just written. It gives up after patience.
func (r *Rules) Settle(ctx context.Context, written metav1.Object) {
	if r == nil || r.current.Load() == nil {
		return
	}
	_, _ = r.await(ctx, func(t *table) bool {
		said, known := t.Reports[written.GetName()]
		return known && said.Generation >= written.GetGeneration() && said.UID == written.GetUID()
	})
}
