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
	// early is how much before its time a token is accepted: the clock of the
	// replica that signed it may be ahead.
	early = 10 * time.Second
	// farewell is how long a token outlives the deletion of its objects, so that
	// what shuts down can say so. An object that is gone ends it at once.
	farewell = time.Minute
)

// Authenticator accepts the tokens of an issuer.
type Authenticator struct {
	issuer  *Issuer
	objects Objects
	api     authenticator.Audiences
}

var _ authenticator.Token = &Authenticator{}

// NewAuthenticator accepts tokens for the audiences that a request asks for,
// and for those of the API when it asks for none.
func NewAuthenticator(issuer *Issuer, objects Objects, api authenticator.Audiences) *Authenticator {
	return &Authenticator{issuer: issuer, objects: objects, api: api}
}

var errInvalidated = errors.New("service account token has been invalidated")

// AuthenticateToken implements authenticator.Token. A token of another issuer
// is not accepted and no error.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	said, err := a.issuer.claims(token)
	if said == nil || err != nil {
		return nil, false, err
	}
	now := a.issuer.now()
	if !now.Before(said.ExpiresAt.Time) {
		return nil, false, errors.New("service account token has expired")
	}
	if said.NotBefore != nil && now.Add(early).Before(said.NotBefore.Time) {
		return nil, false, errors.New("service account token is not valid yet")
	}
	requested, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		requested = a.api
	}
	audiences := authenticator.Audiences(said.Audience).Intersect(requested)
	if len(audiences) == 0 {
		return nil, false, fmt.Errorf("token audiences %q is invalid for the target audiences %q", said.Audience, requested)
	}
	if err := a.checkHolder(ctx, said.Holder, now); err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: info(said).UserInfo(), Audiences: audiences}, true, nil
}

// checkHolder asks whether everything the token stands on is still there.
func (a *Authenticator) checkHolder(ctx context.Context, holder Holder, now time.Time) error {
	account, err := a.objects.serviceAccount(ctx, holder.Namespace, holder.ServiceAccount)
	if err := alive(account, err, holder.ServiceAccount, now); err != nil {
		return err
	}
	if holder.Pod != nil {
		pod, err := a.objects.pod(ctx, holder.Namespace, *holder.Pod)
		if err := alive(pod, err, *holder.Pod, now); err != nil {
			return err
		}
	}
	if holder.Secret != nil {
		secret, err := a.objects.secret(ctx, holder.Namespace, *holder.Secret)
		if err := alive(secret, err, *holder.Secret, now); err != nil {
			return err
		}
	}
	// The node of a pod is told, not checked: the pod is what the token is
	// bound to.
	if holder.Node != nil && holder.Pod == nil {
		node, err := a.objects.node(ctx, *holder.Node)
		if err := alive(node, err, *holder.Node, now); err != nil {
			return err
		}
	}
	return nil
}

// alive judges an object that was read: it is the one meant, and not deleted.
func alive(obj metav1.Object, err error, ref Ref, now time.Time) error {
	if apierrors.IsNotFound(err) {
		return errInvalidated
	}
	if err != nil {
		return fmt.Errorf("look up what the service account token is bound to: %w", err)
	}
	if obj.GetUID() != ref.UID {
		return errInvalidated
	}
	if deleted := obj.GetDeletionTimestamp(); deleted != nil && deleted.Add(farewell).Before(now) {
		return errInvalidated
	}
	return nil
}

// info is the user of a token, with what Kubernetes tells of it.
func info(said *claims) *serviceaccount.ServiceAccountInfo {
	holder := said.Holder
	i := &serviceaccount.ServiceAccountInfo{
		Namespace: holder.Namespace, Name: holder.ServiceAccount.Name, UID: string(holder.ServiceAccount.UID),
		CredentialID: jwt.CredentialIDForJTI(said.ID),
	}
	if holder.Pod != nil {
		i.PodName, i.PodUID = holder.Pod.Name, string(holder.Pod.UID)
	}
	if holder.Node != nil {
		i.NodeName, i.NodeUID = holder.Node.Name, string(holder.Node.UID)
	}
	return i
}
