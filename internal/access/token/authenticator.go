package token

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/token/jwt"
)

const (
	// clockSkew is how long before its "not before" time a token is accepted. The
	// clock of the replica that signed the token may be fast.
	clockSkew = 10 * time.Second
	// deletionGrace is how long a token stays valid after the deletionTimestamp of
	// its service account or bound object, so that a pod that shuts down can still
	// use the API. Once the object is removed, the token is invalid.
	deletionGrace = time.Minute
)

// Authenticator authenticates the tokens of an issuer. It is safe for concurrent
// use.
type Authenticator struct {
	issuer       *Issuer
	objects      Objects
	apiAudiences authenticator.Audiences
}

var _ authenticator.Token = &Authenticator{}

// NewAuthenticator returns an authenticator for the tokens of the issuer. A token
// must be for one of the audiences in the context, or for one of apiAudiences if
// the context has none.
func NewAuthenticator(issuer *Issuer, objects Objects, apiAudiences authenticator.Audiences) *Authenticator {
	return &Authenticator{issuer: issuer, objects: objects, apiAudiences: apiAudiences}
}

var errInvalidated = errors.New("service account token has been invalidated")

// AuthenticateToken implements authenticator.Token. For a token of another issuer
// it returns false and no error.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	verified, err := a.issuer.verify(token)
	if verified == nil || err != nil {
		return nil, false, err
	}
	now := a.issuer.now()
	if !now.Before(verified.ExpiresAt.Time) {
		return nil, false, errors.New("service account token has expired")
	}
	if verified.NotBefore != nil && now.Add(clockSkew).Before(verified.NotBefore.Time) {
		return nil, false, errors.New("service account token is not valid yet")
	}
	requested, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		requested = a.apiAudiences
	}
	audiences := authenticator.Audiences(verified.Audience).Intersect(requested)
	if len(audiences) == 0 {
		return nil, false, fmt.Errorf("token audiences %q is invalid for the target audiences %q", verified.Audience, requested)
	}
	if err := a.checkHolder(ctx, verified.Holder, now); err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: userOf(verified).UserInfo(), Audiences: audiences}, true, nil
}

// checkHolder checks that the service account and the object that the token is
// bound to still exist.
func (a *Authenticator) checkHolder(ctx context.Context, holder Holder, now time.Time) error {
	account, err := a.objects.serviceAccount(ctx, holder.Namespace, holder.ServiceAccount)
	if err := checkObject(account, err, holder.ServiceAccount, now); err != nil {
		return err
	}
	if holder.Pod != nil {
		pod, err := a.objects.pod(ctx, holder.Namespace, *holder.Pod)
		if err := checkObject(pod, err, *holder.Pod, now); err != nil {
			return err
		}
	}
	if holder.Secret != nil {
		secret, err := a.objects.secret(ctx, holder.Namespace, *holder.Secret)
		if err := checkObject(secret, err, *holder.Secret, now); err != nil {
			return err
		}
	}
	// If the token is bound to a pod, Node is only information about the pod, so
	// the node need not exist.
	if holder.Node != nil && holder.Pod == nil {
		node, err := a.objects.node(ctx, *holder.Node)
		if err := checkObject(node, err, *holder.Node, now); err != nil {
			return err
		}
	}
	return nil
}

// checkObject takes the result of reading the object that ref names. It returns
// errInvalidated if the object is missing, has another UID, or was deleted more
// than deletionGrace ago.
func checkObject(obj metav1.Object, err error, ref Ref, now time.Time) error {
	if apierrors.IsNotFound(err) {
		return errInvalidated
	}
	if err != nil {
		return fmt.Errorf("look up what the service account token is bound to: %w", err)
	}
	if obj.GetUID() != ref.UID {
		return errInvalidated
	}
	if deleted := obj.GetDeletionTimestamp(); deleted != nil && deleted.Add(deletionGrace).Before(now) {
		return errInvalidated
	}
	return nil
}

// userOf returns the user that a token authenticates, with the pod and the node as
// extra fields, like Kubernetes does.
func userOf(verified *claims) *serviceaccount.ServiceAccountInfo {
	holder := verified.Holder
	info := &serviceaccount.ServiceAccountInfo{
		Namespace: holder.Namespace, Name: holder.ServiceAccount.Name, UID: string(holder.ServiceAccount.UID),
		CredentialID: jwt.CredentialIDForJTI(verified.ID),
	}
	if holder.Pod != nil {
		info.PodName, info.PodUID = holder.Pod.Name, string(holder.Pod.UID)
	}
	if holder.Node != nil {
		info.NodeName, info.NodeUID = holder.Node.Name, string(holder.Node.UID)
	}
	return info
}
