package controller

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/operator/authorship"
)

// Readiness returns "" if a plan does not wait for an applied object. Otherwise it returns
// the reason, after "waiting: ", "error: " (the plan retries) or "fatal: " (the plan fails).
func Readiness(config Config, object *unstructured.Unstructured) string {
	e := &execution{controller: &controller{unattended: config.Unattended}}
	err := e.ready(object)
	var wait waitingError
	switch {
	case err == nil:
		return ""
	case isFatal(err):
		return "fatal: " + err.Error()
	case errors.As(err, &wait):
		return "waiting: " + err.Error()
	}
	return "error: " + err.Error()
}

// Permanent reports whether the error of a request ends a plan.
func Permanent(err error) bool { return isFatal(fatalIfPermanent(err)) }

// ReviewAccess returns an error if a user may not create or delete an object, as far as the
// authorizer can tell.
func ReviewAccess(ctx context.Context, config *rest.Config, user, verb string, object *unstructured.Unstructured) error {
	server, err := connection.Open(config, connection.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	kinds := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(server.Discovery))
	e := &execution{controller: &controller{server: server, kinds: kinds}}
	how := application(nil)
	if verb == deleteVerb {
		how = removal(object)
	}
	return e.reviewAccess(ctx, authorship.User{Username: user}, target{Unstructured: object}, how)
}
