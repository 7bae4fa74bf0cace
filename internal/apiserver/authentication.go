package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/openid"
	"holdfast.dev/holdfast/internal/access/token"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

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
func newTokens(b start.Base, clients *clients) (*tokens, error) {
	requests, err := newTokenRequests(b, clients)
	if err != nil {
		return nil, err
	}
	authenticators := []authenticator.Token{token.NewAuthenticator(requests.Issuer, requests.Objects, requests.Audiences)}
	if b.Config.TokenFile != "" {
		static, err := token.NewStatic(b.Config.TokenFile, requests.Audiences)
		if err != nil {
			return nil, fmt.Errorf("token file: %w", err)
		}
		authenticators = append([]authenticator.Token{static}, authenticators...)
	}
	server := openid.Server{Audiences: requests.Audiences, Issuers: b.Config.ServiceAccounts.Issuers, ID: b.Generic.APIServerID}
	providers, err := openid.New(b.Running, b.Config.OpenID, server)
	if err != nil {
		return nil, err
	}
	return &tokens{requests: requests, authenticators: append(authenticators, providers...)}, nil
}

func newTokenRequests(b start.Base, clients *clients) (*token.Requests, error) {
	issuer, err := newIssuer(b)
	if err != nil {
		return nil, err
	}
	core := clients.informers.Core().V1()
	objects := token.Objects{
		ServiceAccounts: core.ServiceAccounts().Lister(), Pods: core.Pods().Lister(), Client: clients.kube.CoreV1(),
	}
	return &token.Requests{
		Issuer: issuer, Objects: objects, Audiences: b.Config.ServiceAccounts.Audiences, MaxLife: b.Config.MaxTokenLife,
	}, nil
}

// applyAuthentication accepts front proxies, client certificates of the authorities, and tokens.
func applyAuthentication(b start.Base, in access.Authentication) error {
	config := b.Generic
	proxies, err := b.Config.RequestHeader.ToAuthenticationRequestHeaderConfig()
	if err != nil {
		return fmt.Errorf("authentication of proxies: %w", err)
	}
	if proxies != nil {
		in.FrontProxy = headerrequest.NewDynamicVerifyOptionsSecure(proxies.CAContentProvider.VerifyOptions, proxies.AllowedClientNames,
			proxies.UsernameHeaders, proxies.UIDHeaders, proxies.GroupHeaders, proxies.ExtraHeaderPrefixes)
		config.Authentication.RequestHeaderConfig = proxies
		if err := config.Authentication.ApplyClientCert(proxies.CAContentProvider, config.SecureServing); err != nil {
			return fmt.Errorf("authentication of proxies: %w", err)
		}
	}
	config.Authentication.Authenticator = withStack(in.Request())
	config.Authentication.APIAudiences = b.Config.ServiceAccounts.Audiences
	config.OpenAPIConfig.SecurityDefinitions = in.SecurityDefinitions()
	if err := config.Authentication.ApplyClientCert(b.ClientCA, config.SecureServing); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	return nil
}

// serveIssuer publishes the documents with which other services verify the tokens of
// service accounts. A client needs a role to read them.
func serveIssuer(server *genericapiserver.GenericAPIServer, tokens *tokens, b start.Base) error {
	url := b.Config.ServiceAccounts.KeysURL
	if url == "" {
		url = b.URL() + token.KeysPath
	}
	configuration, err := tokens.requests.Issuer.Configuration(url)
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
