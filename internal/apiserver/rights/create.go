package rights

import (
	"context"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Creating wraps the validation of new objects for a request that may create one although it is an update, a patch or an apply. It refuses a user who may
// not create the object in the URL, and asks the authorizer once.
func Creating(req *http.Request, scope *handlers.RequestScope, namespace, name string, validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	user, _ := genericapirequest.UserFrom(req.Context())
	attributes := authorizer.AttributesRecord{
		User: user, ResourceRequest: true, Path: req.URL.Path, Verb: "create", APIGroup: scope.Resource.Group,
		APIVersion: scope.Resource.Version, Resource: scope.Resource.Resource, Subresource: scope.Subresource, Namespace: namespace, Name: name,
	}
	authorize := sync.OnceValue(func() error {
		decision, reason, err := scope.Authorizer.Authorize(req.Context(), attributes)
		switch {
		case decision == authorizer.DecisionAllow: // RBAC may allow a request although it could not evaluate each role
			return nil
		case err != nil:
			return apierrors.NewInternalError(err)
		}
		return responsewriters.ForbiddenStatusError(attributes, reason)
	})
	return func(ctx context.Context, obj runtime.Object) error {
		if err := authorize(); err != nil {
			return err
		}
		return validate(ctx, obj)
	}
}
