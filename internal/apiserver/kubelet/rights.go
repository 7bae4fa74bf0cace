package kubelet

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// requireCreate checks that the user has the verb create. A WebSocket begins with GET, for which
// the handler chain requires only the verb get. Kubernetes also requires create, so that a role
// that can read a pod cannot run commands in it.
func requireCreate(ctx context.Context, rights authorizer.Authorizer) error {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errNoRequest)
	}
	if info.Verb == "create" {
		return nil
	}
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	decision, reason, err := rights.Authorize(ctx, create{attributes})
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if decision != authorizer.DecisionAllow {
		return apierrors.NewForbidden(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, info.Name, errors.New(reason))
	}
	return nil
}

// create are the attributes of a request, with the verb create.
type create struct{ authorizer.Attributes }

// GetVerb implements authorizer.Attributes.
func (create) GetVerb() string { return "create" }
