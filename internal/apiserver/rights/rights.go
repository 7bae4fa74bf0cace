// Package rights asks the authorizer about the user of a request that writes to a stored object.
//
//	handler = rights.Filter(handler, authorizer)
//	if rights.May(ctx, "resize") { ... }
//
// The authorizer is asked when a step of the write first needs the answer, and once for each verb and request. A write that needs no
// answer does not ask. Everything here is safe for concurrent use.
package rights

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Filter wraps the handlers of resources, so that the functions of this package know the authorizer. It runs after authentication and
// impersonation.
func Filter(next http.Handler, asked authorizer.UnconditionalAuthorizer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if ok && info.IsResourceRequest && isWrite(info) {
			req = req.WithContext(context.WithValue(req.Context(), key{}, &answers{authorizer: asked}))
		}
		next.ServeHTTP(w, req)
	})
}

// isWrite reports whether a request writes to objects that are stored already. A create of a subresource, such as the binding of a pod,
// writes to the object in the URL.
func isWrite(info *genericapirequest.RequestInfo) bool {
	switch info.Verb {
	case "update", "patch", "delete", "deletecollection":
		return true
	}
	return info.Verb == "create" && info.Subresource != ""
}

// May reports whether the user of a request has a verb on the object of the request that only people need, such as one that a rule
// names. The server's own controllers have none. It is false for a context that did not pass Filter.
func May(ctx context.Context, verb string) bool {
	asking, ok := genericapirequest.UserFrom(ctx)
	return ok && asking.GetName() != user.APIServerUser && Allowed(ctx, verb, "")
}

// Allowed reports whether the user of a request may use a verb on the object of the request, or on a subresource of it. It is false for
// a context that did not pass Filter, and if the authorizer returns an error.
func Allowed(ctx context.Context, verb, subresource string) bool {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok {
		return false
	}
	return AllowedOn(ctx, verb, authorizer.AttributesRecord{
		Namespace: info.Namespace, Name: info.Name, APIGroup: info.APIGroup, APIVersion: info.APIVersion,
		Resource: info.Resource, Subresource: subresource,
	})
}

// AllowedOn is Allowed for another object: the namespace, name, group, version, resource and subresource in the attributes.
func AllowedOn(ctx context.Context, verb string, object authorizer.AttributesRecord) bool {
	known, ok := ctx.Value(key{}).(*answers)
	if !ok {
		return false
	}
	if object.User, ok = genericapirequest.UserFrom(ctx); !ok {
		return false
	}
	object.Verb, object.ResourceRequest = verb, true
	return known.ask(ctx, object)
}

type key struct{}

// question is what an answer depends on, within one request.
type question struct{ verb, group, resource, subresource, namespace, name string }

// answers are those of the authorizer for one request.
type answers struct {
	authorizer authorizer.UnconditionalAuthorizer
	mu         sync.Mutex
	known      map[question]bool
}

func (a *answers) ask(ctx context.Context, asked authorizer.AttributesRecord) bool {
	q := question{asked.Verb, asked.APIGroup, asked.Resource, asked.Subresource, asked.Namespace, asked.Name}
	a.mu.Lock()
	defer a.mu.Unlock()
	if allowed, known := a.known[q]; known {
		return allowed
	}
	decision, _, err := a.authorizer.Authorize(ctx, asked)
	if a.known == nil {
		a.known = map[question]bool{}
	}
	a.known[q] = err == nil && decision == authorizer.DecisionAllow
	return a.known[q]
}
