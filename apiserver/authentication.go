package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/access/openid"
	"holdfast.dev/holdfast/access/token"
)

// issuerName is who service-account tokens are from, and for whom when their
// request names no audience; Kubernetes installers use the same.
const issuerName = "https://kubernetes.default.svc.cluster.local"

// tokens make and check the tokens of service accounts, and know those of a file.
type tokens struct {
	requests *token.Requests
	known    []authenticator.Token
}

// newTokens opens the key that signs service-account tokens.
func newTokens(pki *access.PKI, clients *clients) (*tokens, error) {
	key, err := pki.ServiceAccountKey()
	if err != nil {
		return nil, fmt.Errorf("service-account key: %w", err)
	}
	issuer, err := token.NewIssuer(issuerName, key)
	if err != nil {
		return nil, fmt.Errorf("service-account tokens: %w", err)
	}
	audiences := authenticator.Audiences{issuerName}
	core := clients.informers.Core().V1()
	objects := token.Objects{ServiceAccounts: core.ServiceAccounts().Lister(), Pods: core.Pods().Lister(), Client: clients.kube.CoreV1()}
	return &tokens{
		requests: &token.Requests{Issuer: issuer, Objects: objects, Audiences: audiences},
		known:    []authenticator.Token{token.NewAuthenticator(issuer, objects, audiences)},
	}, nil
}

// addOthers knows the tokens of the static file before those of service
// accounts, and those of OpenID providers after them, as Kubernetes asks.
func (t *tokens) addOthers(ctx context.Context, config Config, serverID string) error {
	audiences := t.requests.Audiences
	if config.TokenFile != "" {
		static, err := token.NewStatic(config.TokenFile, audiences)
		if err != nil {
			return fmt.Errorf("token file: %w", err)
		}
		t.known = append([]authenticator.Token{static}, t.known...)
	}
	people, err := openid.New(ctx, config.OpenID, openid.Server{Audiences: audiences, Issuer: issuerName, ID: serverID})
	if err != nil {
		return err
	}
	t.known = append(t.known, people...)
	return nil
}

// applyAuthentication knows who shows a certificate of the authority, or a token.
func applyAuthentication(config *genericapiserver.Config, clientCA dynamiccertificates.CAContentProvider, in access.Authentication) error {
	config.Authentication.Authenticator = in.Request()
	config.Authentication.APIAudiences = authenticator.Audiences{issuerName}
	config.OpenAPIConfig.SecurityDefinitions = in.SecurityDefinitions()
	if err := config.Authentication.ApplyClientCert(clientCA, config.SecureServing); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	return nil
}

// serveIssuer publishes the documents by which others check the tokens of
// service accounts. Roles say who reads them.
func (s *Server) serveIssuer(tokens *tokens) error {
	configuration, err := tokens.requests.Issuer.Configuration(s.URL() + token.KeysPath)
	if err != nil {
		return fmt.Errorf("service-account issuer: %w", err)
	}
	keys, err := tokens.requests.Issuer.Keys()
	if err != nil {
		return fmt.Errorf("service-account issuer: %w", err)
	}
	s.generic.Handler.NonGoRestfulMux.Handle(token.ConfigurationPath, configuration)
	s.generic.Handler.NonGoRestfulMux.Handle(token.KeysPath, keys)
	return nil
}
