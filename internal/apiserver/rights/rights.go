// Package rights asks the authorizer what else the user of a write may do with the written object.
//
//	if rights.May(ctx, "unlock") { ... }
//
// Some rules let a write through if its user has a right beyond that to update: the verb of an "unless", or unlock. The answer to
// each question is kept for the request, although a store may try a write several times. The server's own controllers have none of
// these rights. Everything here is safe for concurrent use.
package rights

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/operator/authorship"
)

// Filter wraps the handlers of resources, so that the functions of this package know the authorizer. It runs after authentication
// and impersonation.
func Filter(next http.Handler, rights authorizer.UnconditionalAuthorizer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info, ok := genericapirequest.RequestInfoFrom(req.Context()); ok && info.IsResourceRequest && isWrite(info) {
			asked := &answers{rights: rights, known: map[question]bool{}}
			req = req.WithContext(context.WithValue(req.Context(), key{}, asked))
		}
		next.ServeHTTP(w, req)
	})
}

// isWrite reports whether a request writes to objects that are stored already. A create of a subresource, such as the binding of a
// pod, writes to the object in the URL, and a new definition may change objects.
func isWrite(info *genericapirequest.RequestInfo) bool {
	switch info.Verb {
	case "update", "patch", "delete", "deletecollection":
		return true
	}
	return info.Verb == "create" && (info.Subresource != "" || info.Resource == "customresourcedefinitions")
}

// May reports whether the user of a request may do something with the object in its URL. It is false for the server's own
// controllers, and for a context that did not pass Filter.
func May(ctx context.Context, verb string) bool {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	return ok && MayWith(ctx, verb, info.Name)
}

// MayWith is May for an object with a name, of the resource and namespace in the URL: a deletion of a collection names none.
func MayWith(ctx context.Context, verb, name string) bool {
	return !IsOwn(ctx) && allowed(ctx, question{verb: verb, name: name})
}

// Allowed reports whether the authorizer allows a verb for the object in the URL of a request, or for a subresource of it.
func Allowed(ctx context.Context, verb, subresource string) bool {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	return ok && allowed(ctx, question{verb: verb, name: info.Name, subresource: subresource})
}

// MayList reports whether the user of a request may list all objects of another resource than that in the URL.
func MayList(ctx context.Context, resource schema.GroupVersionResource) bool {
	a, ok := ctx.Value(key{}).(*answers)
	return ok && a.authorize(ctx, authorizer.AttributesRecord{
		Verb: "list", APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
	})
}

// MayObject reports whether the user of a request may do something with another object than that in the URL.
func MayObject(ctx context.Context, verb string, resource schema.GroupVersionResource, namespace, name string) bool {
	a, ok := ctx.Value(key{}).(*answers)
	return ok && a.authorize(ctx, authorizer.AttributesRecord{
		Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, Namespace: namespace, Name: name,
	})
}

// IsOwn reports whether a request is one of the server's own controllers.
func IsOwn(ctx context.Context) bool {
	by, ok := genericapirequest.UserFrom(ctx)
	return ok && (by.GetName() == user.APIServerUser || by.GetName() == authorship.ControllerUser)
}

type key struct{}

// question is what the authorizer was asked in a request.
type question struct{ verb, name, subresource string }

// answers are the answers of the authorizer in one request.
type answers struct {
	rights authorizer.UnconditionalAuthorizer

	mu    sync.Mutex
	known map[question]bool
}

// allowed asks the authorizer, once for each question. An error of the authorizer counts as no.
func allowed(ctx context.Context, asked question) bool {
	a, ok := ctx.Value(key{}).(*answers)
	if !ok {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, known := a.known[asked]
	if !known {
		answer = a.ask(ctx, asked)
		a.known[asked] = answer
	}
	return answer
}

func (a *answers) ask(ctx context.Context, asked question) bool {
	info, hasInfo := genericapirequest.RequestInfoFrom(ctx)
	return hasInfo && a.authorize(ctx, authorizer.AttributesRecord{
		Verb: asked.verb, Namespace: info.Namespace, Name: asked.name, Subresource: asked.subresource,
		APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource,
	})
}

// authorize asks whether the user of a request may do something with a resource.
func (a *answers) authorize(ctx context.Context, record authorizer.AttributesRecord) bool {
	by, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return false
	}
	record.User, record.ResourceRequest = by, true
	decision, _, err := a.rights.Authorize(ctx, record)
	return err == nil && decision == authorizer.DecisionAllow
}
