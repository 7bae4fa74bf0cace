package token

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/token/jwt"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

const (
	defaultSeconds = 60 * 60
	minSeconds     = 10 * 60
	maxSeconds     = 1 << 32
)

var requestKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// Requests is the storage of the subresource serviceaccounts/token, which issues
// tokens.
type Requests struct {
	// Issuer signs the tokens.
	Issuer *Issuer
	// Objects reads the service account and the bound object. Requests uses only
	// its client, because the listers could return an object that was just
	// replaced by another of the same name.
	Objects Objects
	// Audiences are the audiences of a token if the request has none.
	Audiences authenticator.Audiences
	// MaxLife is the longest lifetime of a token; zero means no limit. Longer
	// requests are shortened, with a warning.
	MaxLife time.Duration
}

var (
	_ rest.NamedCreater             = &Requests{}
	_ rest.GroupVersionKindProvider = &Requests{}
)

// New implements rest.Storage.
func (r *Requests) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy implements rest.Storage.
func (r *Requests) Destroy() {}

// GroupVersionKind implements rest.GroupVersionKindProvider. TokenRequest is in
// another API group than ServiceAccount.
func (r *Requests) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind { return requestKind }

// Create implements rest.NamedCreater. name is the name of the service account.
func (r *Requests) Create(
	ctx context.Context, name string, obj runtime.Object, admit rest.ValidateObjectFunc, _ *metav1.CreateOptions,
) (runtime.Object, error) {
	req, ok := obj.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a TokenRequest: %T", obj))
	}
	namespace := request.NamespaceValue(ctx)
	account, err := r.Objects.Client.ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := r.complete(req, account); err != nil {
		return nil, err
	}
	if admit != nil {
		if err := admit(ctx, req.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	holder := Holder{Namespace: namespace, ServiceAccount: Ref{Name: account.Name, UID: account.UID}}
	if ref := req.Spec.BoundObjectRef; ref != nil {
		if err := r.bind(ctx, &holder, *ref); err != nil {
			return nil, err
		}
	}
	r.limitLife(ctx, req)
	issued, err := r.Issuer.Issue(holder, req.Spec.Audiences, time.Duration(*req.Spec.ExpirationSeconds)*time.Second)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	audit.AddAuditAnnotation(ctx, serviceaccount.IssuedCredentialIDAuditAnnotationKey, jwt.CredentialIDForJTI(issued.ID))
	req.Status = authenticationv1.TokenRequestStatus{Token: issued.Token, ExpirationTimestamp: metav1.NewTime(issued.Expires)}
	return req, nil
}

// complete sets the defaults of a request and validates it.
func (r *Requests) complete(req *authenticationv1.TokenRequest, account *corev1.ServiceAccount) error {
	if req.Name != "" && req.Name != account.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("metadata.name %q is not that of the service account %q", req.Name, account.Name))
	}
	if req.Namespace != "" && req.Namespace != account.Namespace {
		const format = "metadata.namespace %q is not that of the service account, %q"
		return apierrors.NewBadRequest(fmt.Sprintf(format, req.Namespace, account.Namespace))
	}
	req.Name, req.Namespace = account.Name, account.Namespace
	req.CreationTimestamp = metav1.NewTime(r.Issuer.now())
	req.Status = authenticationv1.TokenRequestStatus{}
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = r.Audiences
	}
	if req.Spec.ExpirationSeconds == nil {
		seconds := int64(defaultSeconds)
		req.Spec.ExpirationSeconds = &seconds
	}
	path, seconds := field.NewPath("spec", "expirationSeconds"), *req.Spec.ExpirationSeconds
	switch {
	case seconds < minSeconds:
		return apierrors.NewInvalid(requestKind.GroupKind(), account.Name, field.ErrorList{
			field.Invalid(path, seconds, "may not specify a duration less than 10 minutes"),
		})
	case seconds > maxSeconds:
		return apierrors.NewInvalid(requestKind.GroupKind(), account.Name, field.ErrorList{
			field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"),
		})
	}
	return nil
}

// limitLife shortens the requested lifetime to MaxLife, with a warning to the
// client.
func (r *Requests) limitLife(ctx context.Context, req *authenticationv1.TokenRequest) {
	limit := int64(r.MaxLife / time.Second)
	seconds := *req.Spec.ExpirationSeconds
	if limit <= 0 || seconds <= limit {
		return
	}
	warning.AddWarning(ctx, "", fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", seconds, limit))
	req.Spec.ExpirationSeconds = &limit
}
