package custom

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/apiserver/custom/idle"
	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/broadcast"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	// settleTimeout bounds how long a write of a definition waits for its effect. A busy server
	// needs seconds. A client that uses the definition before would get the error 404.
	settleTimeout = 10 * time.Second
	// statusTimeout is the same for the worker that writes the status: the other definitions wait.
	statusTimeout = time.Second

	// A definition that is not done is retried after firstRetry, then after twice as
	// long each time, up to lastRetry.
	firstRetry = 5 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// controller watches the definitions in storage. The handler of each event makes this
// server serve the changed definition at once. The reconcile loop then writes the
// status of the definition. With several servers every one of them does this, and
// the first write wins.
type controller struct {
	server   *Server
	informer cache.SharedIndexInformer
	loop     *reconcile.Loop[string]
	// structural has the conditions NonStructuralSchema.
	structural *verdicts

	closings closings

	// serving is held while the set of served resources changes.
	serving sync.Mutex

	mu sync.Mutex
	// observed holds, by name, the definitions that the informer has delivered and that
	// this server has started to serve. groups holds the same by group and name. changed wakes
	// the goroutines that wait for a change of observed.
	observed map[string]*definition.CustomResourceDefinition
	groups   map[string]map[string]*definition.CustomResourceDefinition
	changed  broadcast.Signal
}

func newController(s *Server) *controller {
	c := &controller{
		server: s, observed: map[string]*definition.CustomResourceDefinition{},
		groups: map[string]map[string]*definition.CustomResourceDefinition{}, structural: newVerdicts(),
	}
	// One worker: definitions that want the same name get it in the order in which
	// they were created.
	c.loop = reconcile.New(reconcile.Config[string]{
		Reconcile: c.reconcile, Log: logRetry, Workers: 1, FirstRetry: firstRetry, LastRetry: lastRetry,
	})
	source := storage.NewListWatch(s.config.Definitions)
	c.informer = cache.NewSharedIndexInformer(source, &definition.CustomResourceDefinition{}, 0, cache.Indexers{})
	return c
}

// Start serves the definitions until ctx ends. It returns when the definitions that
// exist at this moment are served.
func (s *Server) Start(ctx context.Context) error {
	c := s.controller
	var err error
	if s.builtIn, err = groupNames(ctx, s.config.Groups); err != nil {
		return err
	}
	registered, err := c.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    c.onAdd,
		UpdateFunc: c.onUpdate,
		DeleteFunc: c.onDelete,
	})
	if err != nil {
		return err
	}
	go c.informer.RunWithContext(ctx)
	go c.loop.Run(ctx, registered.HasSynced)
	go idle.Run(ctx, s.closeUnused)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return ctx.Err()
	}
	s.loaded.Store(true)
	return nil
}

// onAdd serves a definition that was created, or that the server finds when it starts.
func (c *controller) onAdd(obj any, isInInitialList bool) {
	if crd, ok := obj.(*definition.CustomResourceDefinition); ok && isInInitialList {
		c.structural.believe(crd)
	}
	c.onUpdate(nil, obj)
}

// onUpdate serves a definition that was created or changed, and enqueues it.
func (c *controller) onUpdate(oldObj, obj any) {
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return
	}
	old, _ := oldObj.(*definition.CustomResourceDefinition)
	// Before a server can find the definition observed, the closing of its kind is in force.
	c.closings.observe(crd)
	c.serve(old, crd)
	c.loop.Add(crd.Name)
}

// serve serves a definition, updates discovery and OpenAPI, and wakes the requests
// that wait for the definition.
func (c *controller) serve(old, crd *definition.CustomResourceDefinition) {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.server.replace(crd)
	if changesDiscovery(old, crd) {
		c.publish(crd.Spec.Group, crd)
	}
	c.setObserved(crd.Name, crd)
}

// serveBeforeWrite serves a definition before its status is written as established. A
// client that reads this status can then use the resource at once.
func (c *controller) serveBeforeWrite(crd *definition.CustomResourceDefinition) {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.server.replace(crd)
	c.publish(crd.Spec.Group, crd)
}

// revert undoes serveBeforeWrite when the status could not be written.
func (c *controller) revert(crd *definition.CustomResourceDefinition) {
	c.serving.Lock()
	defer c.serving.Unlock()
	c.mu.Lock()
	observed := c.observed[crd.Name]
	c.mu.Unlock()
	if observed == nil {
		c.server.drop(crd)
	} else {
		c.server.replace(observed)
	}
	c.publish(crd.Spec.Group, nil)
}

// changesDiscovery reports whether a change of a definition changes discovery or
// OpenAPI. Most writes of the status do not.
func changesDiscovery(old, crd *definition.CustomResourceDefinition) bool {
	wasEstablished := old != nil && kind.IsEstablished(old)
	if !wasEstablished || !kind.IsEstablished(crd) {
		return wasEstablished != kind.IsEstablished(crd)
	}
	return (old.DeletionTimestamp != nil) != (crd.DeletionTimestamp != nil) ||
		!definition.SameForObjects(old, crd) ||
		!apiequality.Semantic.DeepEqual(old.Status.AcceptedNames, crd.Status.AcceptedNames)
}

// onDelete stops serving a definition that was deleted. It enqueues the other
// definitions of the group: one of them may have waited for the names.
func (c *controller) onDelete(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return
	}
	c.serving.Lock()
	c.server.drop(crd)
	c.setObserved(crd.Name, nil)
	c.closings.forget(crd.Name)
	c.structural.forget(crd.Name)
	c.publish(crd.Spec.Group, nil)
	c.serving.Unlock()
	for _, other := range c.inGroup(crd.Spec.Group) {
		c.loop.Add(other.Name)
	}
}

// publish updates discovery and OpenAPI for a group from the observed definitions. If
// next is not nil, publish uses it in place of the observed definition with its name.
func (c *controller) publish(group string, next *definition.CustomResourceDefinition) {
	if c.server.builtIn[group] {
		return
	}
	all := c.inGroup(group)
	if next != nil {
		all = slices.DeleteFunc(all, func(crd *definition.CustomResourceDefinition) bool { return crd.Name == next.Name })
		all = append(all, next)
		sortByName(all)
	}
	established := slices.DeleteFunc(all, func(crd *definition.CustomResourceDefinition) bool { return !kind.IsEstablished(crd) })
	versions := c.server.discovery.update(group, established)
	if c.server.config.Registered != nil {
		c.server.config.Registered(group, versions)
	}
	c.server.openapi.Update(group, established)
}

// inGroup returns the observed definitions of a group, sorted by name.
func (c *controller) inGroup(group string) []*definition.CustomResourceDefinition {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Collect(maps.Values(c.groups[group]))
	sortByName(out)
	return out
}

func sortByName(crds []*definition.CustomResourceDefinition) {
	slices.SortFunc(crds, func(a, b *definition.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
}

// setObserved stores a definition in observed. If crd is nil, it removes the definition.
func (c *controller) setObserved(name string, crd *definition.CustomResourceDefinition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The group of a definition never changes: it is part of the name.
	_, group, _ := strings.Cut(name, ".")
	if crd == nil {
		delete(c.observed, name)
		delete(c.groups[group], name)
	} else {
		if c.groups[group] == nil {
			c.groups[group] = map[string]*definition.CustomResourceDefinition{}
		}
		c.observed[name], c.groups[group][name] = crd, crd
	}
	if len(c.groups[group]) == 0 {
		delete(c.groups, group)
	}
	c.changed.Send()
}

// settle waits until this server has observed the written definition or a later state of
// it, and the controller has accepted or rejected its names. It gives up after
// settleTimeout.
func (c *controller) settle(ctx context.Context, written *definition.CustomResourceDefinition) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		c.mu.Lock()
		observed, changed := c.observed[written.Name], c.changed.Next()
		c.mu.Unlock()
		if observed != nil && atLeast(observed, written) && definition.FindCondition(observed, apiextensionsv1.NamesAccepted) != nil {
			return
		}
		if observed == nil && written.DeletionTimestamp != nil {
			return // it is gone already
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// atLeast reports whether the resourceVersion of a is that of b or a later one.
func atLeast(a, b *definition.CustomResourceDefinition) bool {
	av, errA := strconv.ParseUint(a.ResourceVersion, 10, 64)
	bv, errB := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errA == nil && errB == nil && av >= bv
}
