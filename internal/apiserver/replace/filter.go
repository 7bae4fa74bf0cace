package replace

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/dryrun"

	"holdfast.dev/holdfast/internal/apiserver/rights"
	"holdfast.dev/holdfast/internal/connection"
	"holdfast.dev/holdfast/internal/replacement"
)

const (
	// replaceQuery is the query of a PUT that replaces an object: the new object has another UID. The body has the UID and the
	// resourceVersion of the old object. A server without this feature updates the object.
	replaceQuery = "holdfast=replace"
	// lossQuery is the query parameter of a PUT that replaces an object. It names an object, as KIND/NAME, whose data may be lost with
	// it, and may be repeated.
	lossQuery = "allowDataLoss"
	// replacedAnnotation is the audit annotation of a write that replaces an object. Its value is the UID of the old object.
	replacedAnnotation = "holdfast.dev/replaces"
)

// parameter and value are those of replaceQuery.
var parameter, value, _ = strings.Cut(replaceQuery, "=")

// Stored is an object that can be replaced.
type Stored struct {
	// Object is in the API version of the request. It must not be changed.
	Object runtime.Object
	// Key is its key in etcd.
	Key string
	// Kind is its kind.
	Kind string
}

// Objects finds the objects that the server stores.
type Objects interface {
	// Find returns the object that a request names. ok is false if the server does not store the objects of its resource.
	Find(ctx context.Context, info *genericapirequest.RequestInfo) (found Stored, ok bool, err error)
	// Pods returns the pods of a namespace.
	Pods(ctx context.Context, namespace string) ([]corev1.Pod, error)
	Dependents
}

// Replacer serves replacements.
type Replacer struct {
	codecs  runtime.NegotiatedSerializer
	objects Objects
}

// New returns a Replacer, which needs SetObjects. The codecs encode errors.
func New(codecs runtime.NegotiatedSerializer) *Replacer { return &Replacer{codecs: codecs} }

// SetObjects sets the objects before the first request.
func (r *Replacer) SetObjects(objects Objects) { r.objects = objects }

// Filter turns replacements into creates, and passes on that a watch shows replacements as changes. It runs after authorization and
// rights.Filter.
func (r *Replacer) Filter(next http.Handler, maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if connection.RequestsChanges(req) {
			req = req.WithContext(replacement.AsChanges(req.Context()))
		}
		if !strings.Contains(req.URL.RawQuery, replaceQuery) {
			next.ServeHTTP(w, req)
			return
		}
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		query := req.URL.Query()
		if !ok || !info.IsResourceRequest || query.Get(parameter) != value {
			next.ServeHTTP(w, req)
			return
		}
		create, err := r.begin(req, info, query, maxBody)
		if err != nil {
			gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
			responsewriters.ErrorNegotiated(err, r.codecs, gv, w, req)
			return
		}
		next.ServeHTTP(w, create)
	})
}

// begin checks a request and returns the create that carries it out.
func (r *Replacer) begin(
	req *http.Request, info *genericapirequest.RequestInfo, query url.Values, maxBody int64,
) (*http.Request, error) {
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	if info.Verb != "update" || info.Subresource != "" {
		return nil, apierrors.NewBadRequest(replaceQuery + ": only a PUT of an object replaces it")
	}
	if err := mayReplace(req.Context(), resource, info.Name); err != nil {
		return nil, err
	}
	if reason := replacement.Never(resource); reason != "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s are never replaced: %s", resource, reason))
	}
	dependents, err := replacement.ParseDependents(query)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	wanted, err := readIdentity(req, maxBody)
	if err != nil {
		return nil, err
	}
	if err := wanted.check(info); err != nil {
		return nil, err
	}
	ctx := genericapirequest.WithNamespace(req.Context(), info.Namespace)
	stored, ok, err := r.objects.Find(ctx, info)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, apierrors.NewMethodNotSupported(resource, value)
	}
	swap, err := r.swap(ctx, target{resource, stored, query[lossQuery], dependents}, wanted)
	if err != nil {
		return nil, err
	}
	if err := r.checkDependents(ctx, swap, info.Name); err != nil {
		return nil, err
	}
	swap.DryRun = dryrun.IsDryRun(query["dryRun"])
	audit.AddAuditAnnotation(ctx, replacedAnnotation, string(wanted.UID))
	if dependents != replacement.Collect {
		audit.AddAuditAnnotation(ctx, keptAnnotation, string(dependents))
	}
	return asCreate(req, info, query, swap), nil
}

// mayReplace returns an error that names the verb that the user lacks: a replacement deletes an object and creates another one.
func mayReplace(ctx context.Context, resource schema.GroupResource, name string) error {
	for _, verb := range []string{"delete", "create"} {
		if !rights.Allowed(ctx, verb, "") {
			return apierrors.NewForbidden(resource, name, fmt.Errorf("to replace an object takes the verbs update, delete and create, and the user lacks %s", verb))
		}
	}
	return nil
}

// target is the object that is replaced.
type target struct {
	resource schema.GroupResource
	Stored
	// allowed has the objects whose data may be lost.
	allowed    []string
	dependents replacement.Dependents
}

// swap checks the old object and returns the swap.
func (r *Replacer) swap(ctx context.Context, t target, wanted identity) (*replacement.Swap, error) {
	old, err := meta.Accessor(t.Object)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(t.resource, old.GetName(), fmt.Errorf(format, args...))
	}
	if old.GetUID() != wanted.UID {
		return nil, conflict("the stored object has the UID %s, not %s: it was replaced or created again", old.GetUID(), wanted.UID)
	}
	if old.GetResourceVersion() != wanted.ResourceVersion {
		return nil, conflict("the stored object has the resourceVersion %s, not %s: it was changed after it was read",
			old.GetResourceVersion(), wanted.ResourceVersion)
	}
	revision, err := strconv.ParseInt(wanted.ResourceVersion, 10, 64)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("resourceVersion: %w", err))
	}
	object := replacement.Object{
		Resource: t.resource, Kind: t.Kind, Name: old.GetName(), Finalizers: old.GetFinalizers(), Deleting: old.GetDeletionTimestamp() != nil,
	}
	if err := Describe(ctx, t.Object, r.objects.Pods, &object); err != nil {
		return nil, err
	}
	// The claims of a StatefulSet are dependents of it.
	object.DeletesClaims = object.DeletesClaims && t.dependents == replacement.Collect
	if err := object.Obstacle(t.allowed); err != nil {
		return nil, conflict("the object cannot be replaced: %w", err)
	}
	return &replacement.Swap{
		Resource: t.resource, Key: t.Key, Old: t.Object, Revision: revision, Kind: t.Kind, Dependents: t.dependents,
	}, nil
}

// asCreate returns the request to create the object of another request.
func asCreate(req *http.Request, info *genericapirequest.RequestInfo, query url.Values, swap *replacement.Swap) *http.Request {
	query.Del(parameter)
	query.Del(lossQuery)
	query.Del(replacement.PolicyParameter)
	query.Del(replacement.AdoptParameter)
	created := *info
	created.Verb, created.Name, created.Path = "create", "", path.Dir(strings.TrimSuffix(info.Path, "/"))
	created.Parts = info.Parts[:1]
	ctx := genericapirequest.WithRequestInfo(replacement.With(req.Context(), swap), &created)
	create := req.Clone(ctx)
	create.Method = http.MethodPost
	create.URL.Path, create.URL.RawPath, create.URL.RawQuery = created.Path, "", query.Encode()
	create.RequestURI = create.URL.RequestURI()
	return create
}
