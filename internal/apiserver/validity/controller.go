package validity

import (
	"context"
	"errors"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/apiserver/definitions"
	"holdfast.dev/holdfast/internal/apiserver/storage"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/reconcile"
)

const (
	// firstObjects is how many objects the server reads that stores the first one. It is a page of a scan. The leader reads more.
	firstObjects = 40

	// If the server cannot read the objects of a definition, it tries again after firstRetry, then after twice as long each time, up to the
	// interval.
	firstRetry = time.Second
)

// Objects reads stored objects, see storage.Readable.
type Objects interface {
	Scan(ctx context.Context, resource schema.GroupResource, after int64, visit func(storage.Stored) error) (int64, error)
}

// Config configures a Controller. All fields are required unless their comment says otherwise.
type Config struct {
	// Definitions delivers the definitions. Another part of the server runs it.
	Definitions cache.SharedIndexInformer
	// Store is the store of the definitions.
	Store   *genericregistry.Store
	Objects Objects
	// Compiled returns the compiled versions of a definition if the server uses them for requests, so that they need not be compiled again.
	// It is optional, and may return nil.
	Compiled func(*definition.CustomResourceDefinition) map[string]*definition.Compiled
	// Interval is the time after which the leader reads the objects of a definition again, some of which are invalid.
	Interval time.Duration
}

// Controller writes the condition StoredObjectsValid.
type Controller struct {
	Config
	// first has the definitions that got an object and do not have the condition.
	first *reconcile.Loop[string]
}

// New returns a controller. RunFirst and Run do its work.
func New(config Config) *Controller {
	c := &Controller{Config: config}
	c.first = c.newLoop(func(ctx context.Context, name string) (reconcile.Result, error) {
		return reconcile.Result{}, c.add(ctx, c.observed(name))
	})
	return c
}

// newLoop returns a loop with one worker: the server judges the objects of one definition at a time.
func (c *Controller) newLoop(do func(ctx context.Context, name string) (reconcile.Result, error)) *reconcile.Loop[string] {
	return reconcile.New(reconcile.Config[string]{
		Reconcile: do, Workers: 1, FirstRetry: firstRetry, LastRetry: c.Interval,
		Log: func(_ context.Context, name string, err error) {
			klog.ErrorS(err, "the stored objects of a definition are not judged, will be tried again", "definition", name)
		},
	})
}

// FirstObject takes note that an object of a definition without the condition was written. It does not block.
func (c *Controller) FirstObject(name string) { c.first.Add(name) }

// RunFirst adds the condition to definitions that get their first object. Every server runs it until ctx ends.
func (c *Controller) RunFirst(ctx context.Context) { c.first.Run(ctx, c.Definitions.HasSynced) }

// Run computes the conditions that have to be computed, until ctx ends. Only the leader runs it.
func (c *Controller) Run(ctx context.Context) {
	l := leading{Controller: c, due: map[string]time.Time{}}
	loop := c.newLoop(l.reconcile)
	enqueue := func(obj any) {
		if crd, ok := obj.(*definition.CustomResourceDefinition); ok {
			loop.Add(crd.Name)
		}
	}
	handler, err := c.Definitions.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	if err != nil {
		loop.ShutDown()
		return // the server shuts down
	}
	defer func() { _ = c.Definitions.RemoveEventHandler(handler) }() // it fails only if the informer has ended
	loop.Run(ctx, handler.HasSynced)
}

// leading is the work of a leader.
type leading struct {
	*Controller
	// due is when to read the objects of a definition again, some of which are invalid. Only the worker uses it.
	due map[string]time.Time
}

// reconcile does what the condition of a definition asks for.
func (l *leading) reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	crd := l.observed(name)
	condition := conditionOf(crd)
	if condition == nil || condition.Status != apiextensionsv1.ConditionFalse {
		delete(l.due, name)
	}
	switch {
	case condition == nil:
		return reconcile.Result{}, l.add(ctx, crd)
	case condition.Status == apiextensionsv1.ConditionTrue || !isServed(crd):
		return reconcile.Result{}, nil
	}
	if wait := time.Until(l.due[name]); wait > 0 {
		return reconcile.Result{After: wait}, nil
	}
	found, err := l.examine(ctx, crd, 0)
	switch {
	case err == nil:
		err = l.write(ctx, crd, found.set)
	case !errors.Is(err, errChanged) && ctx.Err() == nil:
		err = errors.Join(err, l.writeUnreadable(ctx, crd))
	}
	if errors.Is(err, errChanged) {
		return reconcile.Result{}, nil // the informer delivers the change
	}
	if err != nil || found.invalid == 0 {
		return reconcile.Result{}, err
	}
	l.due[name] = time.Now().Add(l.Interval)
	return reconcile.Result{After: l.Interval}, nil
}

// writeUnreadable writes that the objects of a definition cannot be read. The error may name an object, so that it is in the log only.
func (c *Controller) writeUnreadable(ctx context.Context, crd *definition.CustomResourceDefinition) error {
	unreadable := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: definition.StoredObjectsValid, Status: apiextensionsv1.ConditionUnknown, Reason: "Unreadable",
		Message: "the server cannot read the stored objects; the log of the leader has the reason",
	}
	return c.write(ctx, crd, func(stored *definition.CustomResourceDefinition) {
		definition.SetCondition(stored, unreadable, metav1.Now())
	})
}

// add adds the condition to a definition that does not have it, if objects are stored. If there are many of them, the leader computes it.
func (c *Controller) add(ctx context.Context, crd *definition.CustomResourceDefinition) error {
	if conditionOf(crd) != nil || !isServed(crd) {
		return nil
	}
	found, err := c.examine(ctx, crd, firstObjects)
	set := found.set
	switch {
	case errors.Is(err, errMore):
		set = func(stored *definition.CustomResourceDefinition) {
			definition.SetCondition(stored, definitions.Computing, metav1.Now())
		}
	case err == nil && found.objects == 0:
		return nil
	}
	switch {
	case err == nil || errors.Is(err, errMore):
		err = c.write(ctx, crd, func(stored *definition.CustomResourceDefinition) {
			if conditionOf(stored) == nil {
				set(stored)
			}
		})
	case !errors.Is(err, errChanged) && ctx.Err() == nil:
		err = errors.Join(err, c.writeUnreadable(ctx, crd))
	}
	if errors.Is(err, errChanged) {
		return reconcile.ErrNotYet // this server may not know the change yet, and no write of an object has to follow
	}
	return err
}

// write changes the status of a definition, if the stored definition judges objects as the given one does. Otherwise it returns
// errChanged: what was computed is outdated.
func (c *Controller) write(
	ctx context.Context, crd *definition.CustomResourceDefinition, set func(*definition.CustomResourceDefinition),
) error {
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	err := definitions.Change(ctx, c.Store, crd.Name, func(stored *definition.CustomResourceDefinition) error {
		if !judgesAlike(stored, crd) {
			return errChanged
		}
		set(stored)
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// judgesAlike reports whether two states of a definition judge the same stored objects in the same way.
func judgesAlike(a, b *definition.CustomResourceDefinition) bool {
	return a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && definition.SameForObjects(a, b) &&
		slices.Equal(a.Status.StoredVersions, b.Status.StoredVersions)
}

// observed returns the state of a definition that this server knows, nil if there is none.
func (c *Controller) observed(name string) *definition.CustomResourceDefinition {
	obj, _, err := c.Definitions.GetStore().GetByKey(name)
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if err != nil || !ok {
		return nil
	}
	return crd
}

// isServed reports whether a definition has objects that are not about to be deleted.
func isServed(crd *definition.CustomResourceDefinition) bool {
	return crd != nil && crd.DeletionTimestamp == nil && definition.IsConditionTrue(crd, apiextensionsv1.Established)
}

// conditionOf returns the condition StoredObjectsValid of a definition, nil if it has none. The definition may be nil.
func conditionOf(crd *definition.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionCondition {
	if crd == nil {
		return nil
	}
	return definition.FindCondition(crd, definition.StoredObjectsValid)
}
