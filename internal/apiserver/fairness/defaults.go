package fairness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	informers "k8s.io/client-go/informers/flowcontrol/v1"
	clients "k8s.io/client-go/kubernetes/typed/flowcontrol/v1"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/internal/native/defaults"
	"holdfast.dev/holdfast/internal/reconcile"
)

// key names an object of one of the two kinds.
type key struct {
	resource string
	name     string
}

const (
	levels  = "prioritylevelconfigurations"
	schemas = "flowschemas"
)

// Defaults keeps the default objects of both kinds. Create it with New.
type Defaults struct {
	levels  *ensurer[*flowcontrolv1.PriorityLevelConfiguration]
	schemas *ensurer[*flowcontrolv1.FlowSchema]
	loop    *reconcile.Loop[key]
	synced  []cache.InformerSynced
}

// New watches both kinds through the informers. Call it before the informers start.
func New(client clients.FlowcontrolV1Interface, watched informers.Interface) (*Defaults, error) {
	d := &Defaults{levels: newLevels(client, watched), schemas: newSchemas(client, watched)}
	d.loop = reconcile.New(reconcile.Config[key]{
		Reconcile: func(ctx context.Context, k key) (reconcile.Result, error) {
			return reconcile.Result{}, d.ensure(ctx, k)
		},
	})
	for resource, informer := range map[string]cache.SharedIndexInformer{
		levels: watched.PriorityLevelConfigurations().Informer(), schemas: watched.FlowSchemas().Informer(),
	} {
		enqueue := func(obj any) {
			if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
				d.loop.Add(key{resource, name.Name})
			}
		}
		registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue,
		})
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", resource, err)
		}
		d.synced = append(d.synced, registered.HasSynced)
	}
	return d, nil
}

// Create waits for the informers and then creates the defaults that are missing. It
// returns the errors of all objects that it could not create; Run tries those again.
func (d *Defaults) Create(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), d.synced...) {
		return ctx.Err()
	}
	var failed []error
	for _, k := range d.keys() {
		// Another server may create the same object at the same time.
		if err := d.ensure(ctx, k); err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			failed = append(failed, fmt.Errorf("%s %s: %w", k.resource, k.name, err))
		}
	}
	return errors.Join(failed...)
}

// Run restores the defaults whenever one is deleted or changed, until ctx ends.
func (d *Defaults) Run(ctx context.Context) {
	for _, k := range d.keys() {
		d.loop.Add(k)
	}
	d.loop.Run(ctx, d.synced...)
}

// keys lists the defaults. Priority levels come before the schemas that refer to them.
func (d *Defaults) keys() []key {
	var keys []key
	for _, name := range slices.Sorted(maps.Keys(d.levels.defaults)) {
		keys = append(keys, key{levels, name})
	}
	for _, name := range slices.Sorted(maps.Keys(d.schemas.defaults)) {
		keys = append(keys, key{schemas, name})
	}
	return keys
}

func (d *Defaults) ensure(ctx context.Context, k key) error {
	if k.resource == levels {
		return d.levels.ensure(ctx, k.name)
	}
	return d.schemas.ensure(ctx, k.name)
}

func newLevels(client clients.FlowcontrolV1Interface, watched informers.Interface) *ensurer[*flowcontrolv1.PriorityLevelConfiguration] {
	type level = flowcontrolv1.PriorityLevelConfiguration
	write, lister := client.PriorityLevelConfigurations(), watched.PriorityLevelConfigurations().Lister()
	e := &ensurer[*level]{
		get: lister.Get,
		create: func(ctx context.Context, obj *level) error {
			_, err := write.Create(ctx, obj, metav1.CreateOptions{})
			return err
		},
		update: func(ctx context.Context, obj *level) error {
			_, err := write.Update(ctx, obj, metav1.UpdateOptions{})
			return err
		},
		remove: func(ctx context.Context, obj *level) error { return write.Delete(ctx, obj.Name, only(obj)) },
		copy:   (*level).DeepCopy,
		spec:   func(obj *level) any { return obj.Spec },
		setSpec: func(into, from *level) {
			tuned := into.Spec.Exempt
			from.Spec.DeepCopyInto(&into.Spec)
			// An administrator may change spec.exempt of the exempt level, and nothing
			// else.
			if from.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt && tuned != nil {
				into.Spec.Exempt = tuned
			}
		},
	}
	e.defaults, e.mandatory = byName(bootstrap.MandatoryPriorityLevelConfigurations, bootstrap.SuggestedPriorityLevelConfigurations, e.copy)
	return e
}

func newSchemas(client clients.FlowcontrolV1Interface, watched informers.Interface) *ensurer[*flowcontrolv1.FlowSchema] {
	type schema = flowcontrolv1.FlowSchema
	write, lister := client.FlowSchemas(), watched.FlowSchemas().Lister()
	e := &ensurer[*schema]{
		get: lister.Get,
		create: func(ctx context.Context, obj *schema) error {
			_, err := write.Create(ctx, obj, metav1.CreateOptions{})
			return err
		},
		update: func(ctx context.Context, obj *schema) error {
			_, err := write.Update(ctx, obj, metav1.UpdateOptions{})
			return err
		},
		remove:  func(ctx context.Context, obj *schema) error { return write.Delete(ctx, obj.Name, only(obj)) },
		copy:    (*schema).DeepCopy,
		spec:    func(obj *schema) any { return obj.Spec },
		setSpec: func(into, from *schema) { from.Spec.DeepCopyInto(&into.Spec) },
	}
	e.defaults, e.mandatory = byName(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas, e.copy)
	return e
}

// only makes a delete apply to this very object, and not to one that was created under
// its name since.
func only(obj metav1.Object) metav1.DeleteOptions {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
}

// byName returns copies of the objects by name, with the defaults that a stored object
// has, and the names of the mandatory ones.
func byName[T interface {
	object
	runtime.Object
}](mandatory, suggested []T, deepCopy func(T) T) (all map[string]T, fixed map[string]bool) {
	scheme := runtime.NewScheme()
	defaults.Register(scheme)
	all, fixed = map[string]T{}, map[string]bool{}
	for _, obj := range slices.Concat(mandatory, suggested) {
		stored := deepCopy(obj)
		scheme.Default(stored)
		all[obj.GetName()] = stored
	}
	for _, obj := range mandatory {
		fixed[obj.GetName()] = true
	}
	return all, fixed
}
