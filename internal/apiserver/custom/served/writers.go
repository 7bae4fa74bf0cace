package served

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/internal/apiserver/custom/fields"
	"holdfast.dev/holdfast/internal/apiserver/custom/mergepatch"
	"holdfast.dev/holdfast/internal/apiserver/custom/write"
)

// writers are the endpoints of a version for writes: the objects, and their status and scale if the version has these subresources. The
// first write opens them.
type writers struct {
	once            sync.Once
	err             error
	objects, status *write.Endpoint
	scale           *handlers.RequestScope
}

// open creates the endpoints. The caller has compiled what writes need.
func (w *writers) open(v *Version) error {
	w.once.Do(func() { w.err = w.doOpen(v) })
	return w.err
}

func (w *writers) doOpen(v *Version) (err error) {
	if w.objects, err = newEndpoint(v, v.store, v.scopes.main); err != nil {
		return err
	}
	w.objects.Creater = v.store
	if v.status != nil {
		if w.status, err = newEndpoint(v, v.status, v.scopes.status); err != nil {
			return err
		}
	}
	if v.scale != nil {
		w.scale, err = managedScale(v)
	}
	return err
}

// newEndpoint returns the endpoint of the objects or of their status.
func newEndpoint(v *Version, storage rest.Patcher, scope *handlers.RequestScope) (*write.Endpoint, error) {
	recorder, err := fields.New(fields.Endpoint{Version: v.Version, Subresource: scope.Subresource})
	if err != nil {
		return nil, err
	}
	return &write.Endpoint{
		Judge: v.judge(), Storage: storage, Scope: scope, Format: v.config.Format, Fields: recorder,
		Patches: mergepatch.New(v.Version, v.config.Format), Admission: write.NewAdmission(v.config.Admission),
		IsTerminating: v.resource.Terminating.Load, Definition: current{v}, Anew: v.config.Anew,
	}, nil
}

// current implements write.Definition with the functions of the server.
type current struct{ *Version }

// Begin implements write.Definition.
func (c current) Begin(ctx context.Context) (context.Context, error, error) {
	return c.config.BeginWrite(ctx, c.resource)
}

// AwaitChange implements write.Definition.
func (c current) AwaitChange(ctx context.Context, err error) (changed, replaced bool) {
	return c.config.AwaitChange(ctx, c.resource, err)
}

// Written implements write.Definition.
func (c current) Written() {
	if !c.resource.hasVerdict.Load() && c.config.FirstObject != nil {
		c.config.FirstObject(c.resource.CRD.Name)
	}
}

// managedScale returns the scope of the scale with a field manager. A Scale is not a custom resource, so that the handlers of the library
// write it.
func managedScale(v *Version) (*handlers.RequestScope, error) {
	scope := *v.scopes.scale
	manager, err := managedfields.NewDefaultCRDFieldManager(v.resource.Types(), scope.Convertor, scope.Defaulter, scope.Creater,
		scope.Kind, scope.HubGroupVersion, scope.Subresource, fieldpath.NewExcludeFilterSetMap(nil))
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", scope.Kind, err)
	}
	scope.FieldManager = manager
	return &scope, nil
}
