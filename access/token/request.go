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
	leastSeconds   = 10 * 60
	mostSeconds    = 1 << 32
)

var requestKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// Requests serves serviceaccounts/token: it issues tokens.
type Requests struct {
	// Issuer signs them.
	Issuer *Issuer
	// Objects are read through its client: a token for an object that has just
	// been replaced would be good for nothing.
	Objects Objects
	// Audiences are those of a token whose request names none: the API's.
	Audiences authenticator.Audiences
	// MaxLife shortens what is asked for; zero does not.
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

// GroupVersionKind implements rest.GroupVersionKindProvider: the subresource is
// of another group than its resource.
func (r *Requests) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind { return requestKind }

// Create implements rest.NamedCreater: name is the service account's.
func (r *Requests) Create(ctx context.Context, name string, obj runtime.Object, admit rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	asked, ok := obj.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a TokenRequest: %T", obj))
	}
	namespace := request.NamespaceValue(ctx)
	account, err := r.Objects.Client.ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := r.complete(asked, account); err != nil {
		return nil, err
	}
	if admit != nil {
		if err := admit(ctx, asked.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	holder := Holder{Namespace: namespace, ServiceAccount: Ref{Name: account.Name, UID: account.UID}}
	if ref := asked.Spec.BoundObjectRef; ref != nil {
		if err := r.bind(ctx, &holder, *ref); err != nil {
			return nil, err
		}
	}
	r.shorten(ctx, asked)
	issued, err := r.Issuer.Issue(holder, asked.Spec.Audiences, time.Duration(*asked.Spec.ExpirationSeconds)*time.Second)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	audit.AddAuditAnnotation(ctx, serviceaccount.IssuedCredentialIDAuditAnnotationKey, jwt.CredentialIDForJTI(issued.ID))
	asked.Status = authenticationv1.TokenRequestStatus{Token: issued.Token, ExpirationTimestamp: metav1.NewTime(issued.Expires)}
	return asked, nil
}

// complete fills in what is left out, and refuses what cannot be.
func (r *Requests) complete(asked *authenticationv1.TokenRequest, account *corev1.ServiceAccount) error {
	if asked.Name != "" && asked.Name != account.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("metadata.name %q is not that of the service account %q", asked.Name, account.Name))
	}
	if asked.Namespace != "" && asked.Namespace != account.Namespace {
		return apierrors.NewBadRequest(fmt.Sprintf("metadata.namespace %q is not that of the service account, %q", asked.Namespace, account.Namespace))
	}
	asked.Name, asked.Namespace = account.Name, account.Namespace
	asked.CreationTimestamp = metav1.NewTime(r.Issuer.now())
	asked.Status = authenticationv1.TokenRequestStatus{}
	if len(asked.Spec.Audiences) == 0 {
		asked.Spec.Audiences = r.Audiences
	}
	if asked.Spec.ExpirationSeconds == nil {
		seconds := int64(defaultSeconds)
		asked.Spec.ExpirationSeconds = &seconds
	}
	path, seconds := field.NewPath("spec", "expirationSeconds"), *asked.Spec.ExpirationSeconds
	switch {
	case seconds < leastSeconds:
		return apierrors.NewInvalid(requestKind.GroupKind(), account.Name, field.ErrorList{
			field.Invalid(path, seconds, "may not specify a duration less than 10 minutes"),
		})
	case seconds > mostSeconds:
		return apierrors.NewInvalid(requestKind.GroupKind(), account.Name, field.ErrorList{
			field.Invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"),
		})
	}
	return nil
}

// shorten holds a request to the longest life, and says so.
func (r *Requests) shorten(ctx context.Context, asked *authenticationv1.TokenRequest) {
	most := int64(r.MaxLife / time.Second)
	seconds := *asked.Spec.ExpirationSeconds
	if most <= 0 || seconds <= most {
		return
	}
	warning.AddWarning(ctx, "", fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", seconds, most))
	asked.Spec.ExpirationSeconds = &most
}
