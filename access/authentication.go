package access

import (
	"crypto/x509"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	requestx509 "k8s.io/apiserver/pkg/authentication/request/x509"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Authentication says by what credentials requests come in.
type Authentication struct {
	// ClientCA verifies client certificates: the user is the common name, groups
	// are the organizations. Nil accepts no certificate.
	ClientCA func() (x509.VerifyOptions, bool)
	// Tokens are asked in order for a bearer token.
	Tokens []authenticator.Token
	// Anonymous is for requests without any credential. One whose credential is
	// bad is refused, not taken for anonymous.
	Anonymous Anonymous
}

// Token is the authenticator of bearer tokens alone, as a TokenReview asks it.
func (a Authentication) Token() authenticator.Token {
	return group.NewTokenGroupAdder(tokenunion.New(a.Tokens...), []string{user.AllAuthenticated})
}

// Request is the authenticator of requests.
func (a Authentication) Request() authenticator.Request {
	var known []authenticator.Request
	if a.ClientCA != nil {
		known = append(known, requestx509.NewDynamic(a.ClientCA, requestx509.CommonNameUserConversion))
	}
	if len(a.Tokens) > 0 {
		tokens := tokenunion.New(a.Tokens...)
		known = append(known, bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens))
	}
	all := group.NewAuthenticatedGroupAdder(union.New(known...))
	if anybody := a.Anonymous.authenticator(); anybody != nil {
		return union.NewFailOnError(all, anybody)
	}
	return all
}

// SecurityDefinitions tell readers of the OpenAPI document how to come in.
func (a Authentication) SecurityDefinitions() *spec.SecurityDefinitions {
	definitions := spec.SecurityDefinitions{}
	if len(a.Tokens) > 0 {
		definitions["BearerToken"] = &spec.SecurityScheme{SecuritySchemeProps: spec.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication",
		}}
	}
	return &definitions
}
