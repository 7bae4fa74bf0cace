package write

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Creation lets the objects of a definition be created while their kind is open. It is closed while a server decides whether the
// definition can be deleted.
type Creation interface {
	// Begin returns the context in which the store creates an object. The error says that the kind is closed or that its definition is
	// being deleted; the context is then good for updates only.
	Begin(ctx context.Context) (context.Context, error)
	// AwaitChange reports whether an error of the store says that the definition has changed since Begin. It returns when this server
	// has seen the change.
	AwaitChange(ctx context.Context, err error) bool
}

// createAttempts is how often the server tries to create an object while its definition changes.
const createAttempts = 5

// whileOpen calls a function that creates an object, again if the definition changes at the same time.
func (r *request) whileOpen(ctx context.Context, create func(context.Context) (runtime.Object, error)) (runtime.Object, error) {
	for range createAttempts {
		var created context.Context
		created, r.closed = r.Creation.Begin(ctx)
		if r.verb == "create" && r.closed != nil {
			return nil, r.closed
		}
		result, err := create(created)
		if err == nil || !r.Creation.AwaitChange(ctx, err) {
			return result, err
		}
	}
	busy := apierrors.NewServiceUnavailable("the definition of " + r.Scope.Resource.GroupResource().String() + " changes; try again")
	busy.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return nil, busy
}
