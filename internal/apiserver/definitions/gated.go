package definitions

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"

	"holdfast.dev/holdfast/internal/apiserver/gate"
	"holdfast.dev/holdfast/internal/apiserver/subresource"
	"holdfast.dev/holdfast/internal/definition"
)

// closeAttempts is how often an update that closes its kind begins again because another write came first.
const closeAttempts = 5

// gated is an update that the gate judges.
type gated struct {
	registry *Registry
	review   *gate.Review
	name     string
	info     rest.UpdatedObjectInfo
	// create is asked about a definition that a server-side apply creates. It asks the gate.
	create  rest.ValidateObjectFunc
	update  rest.ValidateObjectUpdateFunc
	options *metav1.UpdateOptions
	// old is the stored definition by which the review was last asked, and closing is set while the kind is closed.
	old     *definition.CustomResourceDefinition
	closing *closing
}

type closingKey struct{}

// store stores the definition, if the gate lets it through.
func (g *gated) store(ctx context.Context, forceCreate bool) (runtime.Object, bool, error) {
	for range closeAttempts {
		out, created, err := g.registry.Store.Update(ctx, g.name, g.info, g.create, g.validate, forceCreate, g.options)
		if !errors.Is(err, gate.ErrMustClose) {
			return out, created, err
		}
		out, err = g.storeClosed(ctx)
		if err == nil || !errors.Is(err, errRaced) {
			return out, false, err
		}
	}
	return nil, false, Unavailable(g.name, "it changes all the time")
}

// errRaced says that the definition changed before its kind was closed.
var errRaced = errors.New("the definition has changed")

// storeClosed closes the kind for writes and stores the definition, if the gate lets it through with what was written meanwhile.
func (g *gated) storeClosed(ctx context.Context) (_ runtime.Object, err error) {
	before := g.old.ResourceVersion
	closing, err := g.registry.close(ctx, g.name, &apistorage.Preconditions{UID: &g.old.UID, ResourceVersion: &before}, ClosedForWrites)
	if apierrors.IsConflict(err) {
		return nil, errRaced
	}
	if err != nil {
		return nil, err
	}
	g.closing = closing
	defer func() {
		g.closing = nil
		if err != nil {
			g.registry.open(ctx, g.name, closing)
		}
	}()
	bounded, cancel := context.WithDeadline(context.WithValue(ctx, closingKey{}, closing), closing.expires)
	defer cancel()
	// The client knows the revision before the kind was closed, which is the same definition.
	info := renumbered{g.info, before, closing.version}
	out, _, err := g.registry.Store.Update(bounded, g.name, info, g.create, g.validate, false, g.options)
	return out, err
}

// judgedCreate returns a function that asks validating admission about a new definition, and then the gate. A server-side apply creates
// definitions too, and its store calls the function again if another write comes first.
func judgedCreate(review *gate.Review, validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		if err := validate(ctx, obj); err != nil {
			return err
		}
		crd, ok := obj.(*definition.CustomResourceDefinition)
		if !ok {
			return fmt.Errorf("unexpected object %T", obj)
		}
		return review.Create(ctx, crd)
	}
}

// validate implements rest.ValidateObjectUpdateFunc: validating admission, and then the gate.
func (g *gated) validate(ctx context.Context, obj, old runtime.Object) error {
	if err := g.update(ctx, obj, old); err != nil {
		return err
	}
	crd, stored, err := pair(obj, old)
	if err != nil {
		return err
	}
	g.old = stored
	if err := g.closing.check(stored); err != nil {
		return err
	}
	return g.review.Update(ctx, stored, crd, g.closing != nil)
}

// pair returns the new and the stored definition of an update.
func pair(obj, old runtime.Object) (crd, stored *definition.CustomResourceDefinition, err error) {
	crd, isNew := obj.(*definition.CustomResourceDefinition)
	stored, isOld := old.(*definition.CustomResourceDefinition)
	if !isNew || !isOld {
		return nil, nil, fmt.Errorf("unexpected objects %T, %T", obj, old)
	}
	return crd, stored, nil
}

// renumbered replaces the resourceVersion of an object.
type renumbered struct {
	rest.UpdatedObjectInfo
	from, to string
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (r renumbered) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := r.UpdatedObjectInfo.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(obj)
	if err == nil && accessor.GetResourceVersion() == r.from {
		accessor.SetResourceVersion(r.to)
	}
	return obj, err
}

// Preconditions implements rest.UpdatedObjectInfo.
func (r renumbered) Preconditions() *metav1.Preconditions {
	wanted := r.UpdatedObjectInfo.Preconditions()
	if wanted == nil || wanted.ResourceVersion == nil || *wanted.ResourceVersion != r.from {
		return wanted
	}
	return &metav1.Preconditions{UID: wanted.UID, ResourceVersion: &r.to}
}

// reopen removes the closing of a context from the definition that is about to be stored.
func reopen(ctx context.Context, crd, old *definition.CustomResourceDefinition) {
	if c, ok := ctx.Value(closingKey{}).(*closing); ok && old != nil && ClosedBy(old) == c.by {
		Reopen(crd)
	}
}

// Status serves the status of definitions. The gate judges its writes.
type Status struct {
	*subresource.Status
	gate *gate.Gate
}

// NewStatusRegistry returns the registry of the status of definitions.
func NewStatusRegistry(status *subresource.Status, g *gate.Gate) *Status { return &Status{status, g} }

// Update implements rest.Updater.
func (s *Status) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	review := s.gate.Review(dryrun.IsDryRun(options.DryRun))
	judged := func(ctx context.Context, obj, old runtime.Object) error {
		if err := update(ctx, obj, old); err != nil {
			return err
		}
		crd, stored, err := pair(obj, old)
		if err != nil {
			return err
		}
		return review.UpdateStatus(ctx, stored, crd)
	}
	out, created, err := s.Status.Update(ctx, name, info, create, judged, forceCreate, options)
	if err == nil {
		review.Announce(ctx)
	}
	return out, created, err
}

// ErrStorageVersion says that a definition does not store objects in the wanted version.
var ErrStorageVersion = errors.New("the definition stores objects in another version")

// Shorten removes all versions but the storage version from the stored versions of a definition. The gate refuses it, whatever the policy
// of the definition is, if an object is stored in one of them. The gate reads the objects after the definition, and this write is stored only
// if the definition has not changed meanwhile. All writes of objects compare the revision of the definition too, so no server can store an
// object in another version in between. The error is ErrStorageVersion if version is not the storage version.
func (s *Status) Shorten(ctx context.Context, name, version string) error {
	review := s.gate.StrictReview()
	shorten := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		crd, ok := old.DeepCopyObject().(*definition.CustomResourceDefinition)
		if !ok {
			return nil, fmt.Errorf("unexpected object %T", old)
		}
		if crd.Spec.StorageVersion() != version {
			return nil, ErrStorageVersion
		}
		crd.Status.StoredVersions = []string{version}
		return crd, nil
	}
	judge := func(ctx context.Context, obj, old runtime.Object) error {
		crd, stored, err := pair(obj, old)
		if err != nil {
			return err
		}
		return review.UpdateStatus(ctx, stored, crd)
	}
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	_, _, err := s.Status.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, shorten), rest.ValidateAllObjectFunc, judge, false, &metav1.UpdateOptions{})
	return err
}
