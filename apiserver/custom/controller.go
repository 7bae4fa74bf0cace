package custom

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/broadcast"
	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/reconcile"
)

const (
	// settleTimeout bounds how long a write of a definition waits for its effect.
	settleTimeout = time.Second

	// A definition that is not done is retried after firstRetry, then after twice as
	// long each time, up to lastRetry.
	firstRetry = 5 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// controller follows the definitions in the store: each change is put in force in
// this server, and then the conditions of the definition are looked after, which
// every server does and only the first one has to.
type controller struct {
	server   *Server
	informer cache.SharedIndexInformer
	loop     *reconcile.Loop[string]

	// serving is held while what is served changes.
	serving sync.Mutex

	mu sync.Mutex
	// seen is what is in force, and changed is sent when that changes.
	seen    map[string]*definition.CustomResourceDefinition
	changed broadcast.Signal
}

func newController(s *Server) *controller {
	c := &controller{server: s, seen: map[string]*definition.CustomResourceDefinition{}}
	// One worker: definitions that want the same name get it in the order in which
	// they were created.
	c.loop = reconcile.New(reconcile.Config[string]{
		Reconcile: c.reconcile, Log: logRetry, Workers: 1, FirstRetry: firstRetry, LastRetry: lastRetry,
	})
	store := s.config.Definitions
	c.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			internal, err := internalOptions(options)
			if err != nil {
				return nil, err
			}
			return store.List(ctx, internal)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			internal, err := internalOptions(options)
			if err != nil {
				return nil, err
			}
			events, err := store.Watch(ctx, internal)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, unwrap), nil
		},
	}, &definition.CustomResourceDefinition{}, 0, cache.Indexers{})
	return c
}

// unwrap takes an object out of what the watch cache encodes it once in.
func unwrap(event watch.Event) (watch.Event, bool) {
	if cached, ok := event.Object.(runtime.CacheableObject); ok {
		event.Object = cached.GetObject()
	}
	return event, true
}

func internalOptions(options metav1.ListOptions) (*internalversion.ListOptions, error) {
	internal := &internalversion.ListOptions{}
	err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, internal, nil)
	return internal, err
}

// Start follows the definitions until ctx ends. It returns when those that there
// are at the start are served.
func (s *Server) Start(ctx context.Context) error {
	c := s.controller
	if err := s.learnBuiltIn(ctx); err != nil {
		return err
	}
	registered, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.put(nil, obj) },
		UpdateFunc: c.put,
		DeleteFunc: c.remove,
	})
	if err != nil {
		return err
	}
	go c.informer.RunWithContext(ctx)
	go c.loop.Run(ctx, registered.HasSynced)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// put puts a definition in force.
func (c *controller) put(oldObj, obj any) {
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return
	}
	old, _ := oldObj.(*definition.CustomResourceDefinition)
	c.serve(old, crd)
	c.loop.Add(crd.Name)
}

// serve serves a definition, tells clients of it, and lets those go on who wait
// for both.
func (c *controller) serve(old, crd *definition.CustomResourceDefinition) {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.server.replace(crd)
	if looksDifferent(old, crd) {
		c.announce(crd.Spec.Group, crd)
	}
	c.note(crd.Name, crd)
}

// anticipate serves a definition that is about to be written as established: who
// reads that it is, finds it served.
func (c *controller) anticipate(crd *definition.CustomResourceDefinition) {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.server.replace(crd)
	c.announce(crd.Spec.Group, crd)
}

// retract takes back what was anticipated and could not be written.
func (c *controller) retract(crd *definition.CustomResourceDefinition) {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.mu.Lock()
	seen := c.seen[crd.Name]
	c.mu.Unlock()
	if seen == nil {
		c.server.drop(crd)
	} else {
		c.server.replace(seen)
	}
	c.announce(crd.Spec.Group, nil)
}

// looksDifferent says whether clients are to be told of a change. Most writes of
// the status are not for them.
func looksDifferent(old, crd *definition.CustomResourceDefinition) bool {
	wasServed := old != nil && isServed(old)
	if !wasServed || !isServed(crd) {
		return wasServed != isServed(crd)
	}
	return (old.DeletionTimestamp != nil) != (crd.DeletionTimestamp != nil) ||
		!apiequality.Semantic.DeepEqual(old.Spec, crd.Spec) ||
		!apiequality.Semantic.DeepEqual(old.Status.AcceptedNames, crd.Status.AcceptedNames)
}

// remove ends the service of a definition that is gone. Others may have waited
// for its names.
func (c *controller) remove(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return
	}
	c.serving.Lock()
	c.server.drop(crd)
	c.note(crd.Name, nil)
	c.announce(crd.Spec.Group, nil)
	c.serving.Unlock()
	for _, other := range c.all() {
		if other.Spec.Group == crd.Spec.Group {
			c.loop.Add(other.Name)
		}
	}
}

// announce tells clients what there is in a group, with next, if there is one, in
// place of what is in force.
func (c *controller) announce(group string, next *definition.CustomResourceDefinition) {
	if c.server.builtIn[group] {
		return
	}
	var established []*definition.CustomResourceDefinition
	all := c.all()
	if next != nil {
		all = slices.DeleteFunc(all, func(crd *definition.CustomResourceDefinition) bool { return crd.Name == next.Name })
		all = append(all, next)
		sortByName(all)
	}
	for _, crd := range all {
		if crd.Spec.Group == group && isServed(crd) {
			established = append(established, crd)
		}
	}
	c.server.discovery.update(group, established)
	c.server.openapi.update(group, established, all)
}

// all are the definitions in force, by name.
func (c *controller) all() []*definition.CustomResourceDefinition {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*definition.CustomResourceDefinition, 0, len(c.seen))
	for _, crd := range c.seen {
		out = append(out, crd)
	}
	sortByName(out)
	return out
}

func sortByName(crds []*definition.CustomResourceDefinition) {
	slices.SortFunc(crds, func(a, b *definition.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
}

func (c *controller) note(name string, crd *definition.CustomResourceDefinition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if crd == nil {
		delete(c.seen, name)
	} else {
		c.seen[name] = crd
	}
	c.changed.Send()
}

// settle waits until a written definition is in force, and its names decided.
func (c *controller) settle(ctx context.Context, written *definition.CustomResourceDefinition) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		c.mu.Lock()
		seen, changed := c.seen[written.Name], c.changed.Next()
		c.mu.Unlock()
		if seen != nil && newer(seen, written) && definition.FindCondition(seen, apiextensionsv1.NamesAccepted) != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// newer says whether a is b or came after it.
func newer(a, b *definition.CustomResourceDefinition) bool {
	av, errA := strconv.ParseUint(a.ResourceVersion, 10, 64)
	bv, errB := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errA == nil && errB == nil && av >= bv
}
