package access

import (
	"crypto/x509"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Authentication lists the credentials that the server accepts.
type Authentication struct {
	// ClientCA returns the options to verify client certificates with. The common
	// name becomes the user, the organizations become the groups. If ClientCA is
	// nil, the server accepts no client certificate.
	ClientCA func() (x509.VerifyOptions, bool)
	// FrontProxy authenticates a proxy by its client certificate, and the user by the headers
	// that the proxy sets. If it is nil, the server trusts no such headers.
	FrontProxy authenticator.Request
	// Tokens are tried in order for each bearer token.
	Tokens []authenticator.Token
	// Revocations rejects revoked credentials. If it is nil, none is rejected.
	Revocations Revocations
	// Anonymous applies to requests without any credential. A request with an
	// invalid credential is always rejected; it never counts as anonymous.
	Anonymous Anonymous
	// Public are paths, beside HealthPaths, that clients without a credential may read.
	Public []string
}

// Revocations wraps authenticators, so that they reject revoked credentials.
type Revocations interface {
	Certificate(certificates authenticator.Request) authenticator.Request
	Token(tokens authenticator.Token) authenticator.Token
	// Request wraps the authenticator of whole requests, which uses the two others.
	Request(requests authenticator.Request) authenticator.Request
}

// Token returns an authenticator for bearer tokens only, for TokenReviews.
func (a Authentication) Token() authenticator.Token {
	return group.NewTokenGroupAdder(a.tokens(), []string{user.AllAuthenticated})
}

// tokens returns the authenticator of all bearer tokens.
func (a Authentication) tokens() authenticator.Token {
	tokens := tokenunion.New(a.Tokens...)
	if a.Revocations == nil {
		return tokens
	}
	return a.Revocations.Token(tokens)
}

// certificates wraps an authenticator of client certificates, so that it rejects revoked ones.
func (a Authentication) certificates(certificates authenticator.Request) authenticator.Request {
	if a.Revocations == nil {
		return certificates
	}
	return a.Revocations.Certificate(certificates)
}

// Request returns an authenticator for whole requests: front proxies, then client
// certificates, then bearer tokens, then anonymous requests.
func (a Authentication) Request() authenticator.Request {
	var credentials []authenticator.Request
	if a.FrontProxy != nil {
		credentials = append(credentials, a.certificates(a.FrontProxy))
	}
	if a.ClientCA != nil {
		credentials = append(credentials, a.certificates(newVerifiedCertificates(a.ClientCA)))
	}
	if len(a.Tokens) > 0 {
		tokens := a.tokens()
		credentials = append(credentials, bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens))
	}
	all := union.New(credentials...)
	if a.Revocations != nil {
		all = a.Revocations.Request(all)
	}
	authenticated := group.NewAuthenticatedGroupAdder(all)
	if anonymous := a.Anonymous.authenticator(a.Public); anonymous != nil {
		return union.NewFailOnError(authenticated, anonymous)
	}
	return authenticated
}

// SecurityDefinitions returns the security section of the OpenAPI document.
func (a Authentication) SecurityDefinitions() *spec.SecurityDefinitions {
	definitions := spec.SecurityDefinitions{}
	if len(a.Tokens) > 0 {
		definitions["BearerToken"] = &spec.SecurityScheme{SecuritySchemeProps: spec.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication",
		}}
	}
	return &definitions
}
