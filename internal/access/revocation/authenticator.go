package revocation

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// credentialKey is the context key of a *Credential. Request puts it into the context, and
// Certificate or Token store there the credential that authenticated the request.
type credentialKey struct{}

// report stores the credential for Request. It does nothing for a TokenReview, which authenticates
// a token outside of Request.
func report(ctx context.Context, c Credential) {
	if place, ok := ctx.Value(credentialKey{}).(*Credential); ok {
		*place = c
	}
}

// Certificate wraps the authenticator of client certificates. It rejects revoked ones.
func (r *Registry) Certificate(certificates authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		response, ok, err := certificates.AuthenticateRequest(req)
		if err != nil || !ok {
			return response, ok, err
		}
		c := OfCertificate(response.User, req.TLS.PeerCertificates[0])
		if err := r.Check(req.Context(), c); err != nil {
			return nil, false, err
		}
		report(req.Context(), c)
		return response, true, nil
	})
}

// Token wraps the authenticator of bearer tokens. It rejects revoked ones.
func (r *Registry) Token(tokens authenticator.Token) authenticator.Token {
	return authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		response, ok, err := tokens.AuthenticateToken(ctx, token)
		if err != nil || !ok {
			return response, ok, err
		}
		c := OfToken(response.User, token)
		if err := r.Check(ctx, c); err != nil {
			return nil, false, err
		}
		report(ctx, c)
		return response, true, nil
	})
}

// Request wraps the authenticator of whole requests, which uses those of Certificate and Token.
// It stores the credential in the session of the request, and begins the session if the request is
// long-running.
func (r *Registry) Request(requests authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		var c Credential
		response, ok, err := requests.AuthenticateRequest(req.WithContext(context.WithValue(req.Context(), credentialKey{}, &c)))
		if err != nil || !ok {
			return response, ok, err
		}
		if err := r.setCredential(req, c); err != nil {
			return nil, false, err
		}
		return response, true, nil
	})
}

// setCredential stores the credential in the session of a request, and begins the session if the
// request is long-running. A request without a credential is anonymous, and no list ends it.
func (r *Registry) setCredential(req *http.Request, c Credential) error {
	s, found := req.Context().Value(sessionKey{}).(*session)
	if !found || c == (Credential{}) {
		return nil
	}
	s.credential = c
	if info, known := request.RequestInfoFrom(req.Context()); !known || !s.isLongRunning(req, info) {
		return nil
	}
	// The list may have changed since the check of the credential.
	return r.begin(s)
}

// CredentialFrom returns the credential that authenticated the request of a context, or the zero
// Credential. For an impersonated user it is the credential of the user that impersonates.
func CredentialFrom(ctx context.Context) Credential {
	if s, found := ctx.Value(sessionKey{}).(*session); found {
		return s.credential
	}
	return Credential{}
}
