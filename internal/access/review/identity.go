package review

import (
	"context"
	"errors"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/registry/rest"
)

// SelfSubject returns the storage of selfsubjectreviews, which ask for the name and
// the groups of the client.
func SelfSubject() rest.Storage {
	return &storage[authenticationv1.SelfSubjectReview, *authenticationv1.SelfSubjectReview]{
		kind: authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview").GroupKind(),
		evaluate: func(ctx context.Context, review *authenticationv1.SelfSubjectReview) error {
			u, err := caller(ctx)
			if err != nil {
				return err
			}
			review.CreationTimestamp = metav1.Now()
			review.Status = authenticationv1.SelfSubjectReviewStatus{UserInfo: describe(u)}
			return nil
		},
	}
}

// Token returns the storage of tokenreviews, which ask for the user that a bearer
// token authenticates for one of the given audiences. A review without audiences
// asks for apiAudiences.
func Token(tokens authenticator.Token, apiAudiences authenticator.Audiences) rest.Storage {
	return &storage[authenticationv1.TokenReview, *authenticationv1.TokenReview]{
		kind: authenticationv1.SchemeGroupVersion.WithKind("TokenReview").GroupKind(),
		validate: func(_ context.Context, review *authenticationv1.TokenReview) error {
			if review.Namespace != "" {
				return apierrors.NewBadRequest("namespace is not allowed on this type")
			}
			if review.Spec.Token == "" {
				return apierrors.NewBadRequest("token is required for TokenReview in authentication")
			}
			return nil
		},
		evaluate: func(ctx context.Context, review *authenticationv1.TokenReview) error {
			audiences := authenticator.Audiences(review.Spec.Audiences)
			if len(audiences) == 0 {
				audiences = apiAudiences
			}
			if len(audiences) > 0 {
				ctx = authenticator.WithAudiences(ctx, audiences)
			}
			response, ok, err := tokens.AuthenticateToken(ctx, review.Spec.Token)
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok && err == nil}
			if err != nil {
				review.Status.Error = err.Error()
				return nil //nolint:nilerr // the status carries the error of an invalid token
			}
			if !ok || response == nil {
				return nil
			}
			if len(audiences) > 0 && len(audiences.Intersect(response.Audiences)) == 0 {
				return apierrors.NewInternalError(errors.New("token authenticator answered for an audience that was not asked for"))
			}
			review.Status.Audiences = response.Audiences
			if response.User != nil {
				review.Status.User = describe(response.User)
			}
			return nil
		},
	}
}

// describe converts the user to the API's form.
func describe(u user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for key, values := range u.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}
