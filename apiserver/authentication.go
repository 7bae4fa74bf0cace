package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"holdfast.dev/holdfast/access"
	"holdfast.dev/holdfast/access/openid"
	"holdfast.dev/holdfast/access/token"
)

// issuerName is the issuer of service-account tokens, and their audience if the request for
// a token names none. Kubernetes installers use the same issuer.
const issuerName = "https://kubernetes.default.svc.cluster.local"

// tokens issues and authenticates the bearer tokens of clients.
type tokens struct {
	// requests issues tokens of service accounts.
	requests *token.Requests
	// authenticators are in the order in which the server tries them: the static file, service
	// accounts, OpenID providers. The order is that of Kubernetes.
	authenticators []authenticator.Token
}

// newTokens opens the key that signs service-account tokens, the static token file
// and the OpenID providers.
func newTokens(b base, clients *clients) (*tokens, error) {
	requests, err := newTokenRequests(b, clients)
	if err != nil {
		return nil, err
	}
	authenticators := []authenticator.Token{token.NewAuthenticator(requests.Issuer, requests.Objects, requests.Audiences)}
	if b.config.TokenFile != "" {
		static, err := token.NewStatic(b.config.TokenFile, requests.Audiences)
		if err != nil {
			return nil, fmt.Errorf("token file: %w", err)
		}
		authenticators = append([]authenticator.Token{static}, authenticators...)
	}
	server := openid.Server{Audiences: requests.Audiences, Issuer: issuerName, ID: b.generic.APIServerID}
	providers, err := openid.New(b.running, b.config.OpenID, server)
	if err != nil {
		return nil, err
	}
	return &tokens{requests: requests, authenticators: append(authenticators, providers...)}, nil
}

func newTokenRequests(b base, clients *clients) (*token.Requests, error) {
	key, err := b.pki.ServiceAccountKey()
	if err != nil {
		return nil, fmt.Errorf("service-account key: %w", err)
	}
	issuer, err := token.NewIssuer(issuerName, key)
	if err != nil {
		return nil, fmt.Errorf("service-account tokens: %w", err)
	}
	core := clients.informers.Core().V1()
	objects := token.Objects{
		ServiceAccounts: core.ServiceAccounts().Lister(), Pods: core.Pods().Lister(), Client: clients.kube.CoreV1(),
	}
	return &token.Requests{
		Issuer: issuer, Objects: objects, Audiences: authenticator.Audiences{issuerName}, MaxLife: b.config.MaxTokenLife,
	}, nil
}

// applyAuthentication accepts client certificates of the authority, and tokens.
func applyAuthentication(
	config *genericapiserver.Config, clientCA dynamiccertificates.CAContentProvider, in access.Authentication,
) error {
	config.Authentication.Authenticator = in.Request()
	config.Authentication.APIAudiences = authenticator.Audiences{issuerName}
	config.OpenAPIConfig.SecurityDefinitions = in.SecurityDefinitions()
	if err := config.Authentication.ApplyClientCert(clientCA, config.SecureServing); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	return nil
}

// serveIssuer publishes the documents with which other services verify the tokens of
// service accounts. A client needs a role to read them.
func serveIssuer(server *genericapiserver.GenericAPIServer, tokens *tokens, url string) error {
	configuration, err := tokens.requests.Issuer.Configuration(url + token.KeysPath)
	if err != nil {
		return fmt.Errorf("service-account issuer: %w", err)
	}
	keys, err := tokens.requests.Issuer.Keys()
	if err != nil {
		return fmt.Errorf("service-account issuer: %w", err)
	}
	server.Handler.NonGoRestfulMux.Handle(token.ConfigurationPath, configuration)
	server.Handler.NonGoRestfulMux.Handle(token.KeysPath, keys)
	return nil
}
