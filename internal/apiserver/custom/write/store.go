package write

import (
	"context"
	"errors"
	"strings"

	grpccodes "google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// store stores the object. For an update, the registry store calls UpdatedObject, and again if another write came first. It compares
// the resourceVersion and calls Judge.BeginUpdate. For a create and an update, it then calls Strategy and validating admission, and
// writes to etcd.
func (r *request) store(ctx context.Context) (runtime.Object, error) {
	if r.verb == "create" {
		return r.create(ctx)
	}
	return r.whileCurrent(ctx, func(ctx context.Context) (result runtime.Object, err error) {
		result, r.created, err = r.Storage.Update(ctx, r.name, r, r.authorizingCreate(), r.validatingUpdate(), r.patchType == apply, r.options)
		return result, err
	})
}

// whileCurrent stores the object by the definition that the endpoint serves, see WhileCurrent.
func (r *request) whileCurrent(ctx context.Context, store func(context.Context) (runtime.Object, error)) (result runtime.Object, err error) {
	err = whileCurrent(ctx, r.Definition, r.Scope.Resource.GroupResource(), func(ctx context.Context, closed error) (err error) {
		if r.closed = closed; r.verb == "create" && closed != nil {
			return closed
		}
		result, err = store(ctx)
		return err
	})
	return result, err
}

// create stores a new object. Mutating plugins see the object once. Validating plugins see it again if it is stored without managed
// fields.
func (r *request) create(ctx context.Context) (_ runtime.Object, err error) {
	if r.withoutManagers {
		r.ready.SetManagedFields(nil)
	} else if r.ready, err = r.newObject(ctx, nil); err != nil {
		return nil, err
	}
	r.created = true
	return r.whileCurrent(ctx, func(ctx context.Context) (runtime.Object, error) {
		return r.Creater.Create(ctx, r.ready, r.validatingCreate(), r.createOptions())
	})
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (r *request) UpdatedObject(ctx context.Context, oldObj runtime.Object) (runtime.Object, error) {
	old := object.From(oldObj)
	if old.GetUID() == "" {
		old = nil // a configuration is applied to an object that does not exist
	}
	obj, err := r.newObject(ctx, old)
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// Preconditions implements rest.UpdatedObjectInfo. If a PUT has a UID, the store refuses to update an object with another UID.
func (r *request) Preconditions() *metav1.Preconditions {
	if r.received == nil || r.received.GetUID() == "" {
		return nil
	}
	uid := r.received.GetUID()
	return &metav1.Preconditions{UID: &uid}
}

// isTooLarge reports whether etcd, or its client, refused to store an object because of its size.
func isTooLarge(err error) bool {
	var coded interface {
		error
		Code() grpccodes.Code
	}
	if errors.As(err, &coded) && coded.Code() == grpccodes.InvalidArgument && coded.Error() == "etcdserver: request is too large" {
		return true
	}
	var status interface{ GRPCStatus() *grpcstatus.Status }
	return errors.As(err, &status) && status.GRPCStatus().Code() == grpccodes.ResourceExhausted &&
		strings.Contains(status.GRPCStatus().Message(), "trying to send message larger than max")
}
