package identity

import (
	"fmt"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/endpoints/request"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/openid"
	"holdfast.dev/holdfast/internal/access/token"
	"holdfast.dev/holdfast/internal/apiserver/stack"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// newTokens opens the static token file and the OpenID providers. It returns what authenticates bearer tokens, in the order in
// which the server tries it: the static file, service accounts, OpenID providers. The order is that of Kubernetes.
func newTokens(b start.Base, requests *token.Requests) ([]authenticator.Token, error) {
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
	return append(authenticators, providers...), nil
}

// newTokenRequests returns what issues the tokens of service accounts.
func newTokenRequests(b start.Base) (*token.Requests, error) {
	issuer, err := newIssuer(b)
	if err != nil {
		return nil, err
	}
	core := b.Clients.Informers.Core().V1()
	objects := token.Objects{
		ServiceAccounts: core.ServiceAccounts().Lister(), Pods: core.Pods().Lister(), Client: b.Clients.Typed.CoreV1(),
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

// withStack makes room on the stack of a goroutine that serves a request. The library starts one for each request that is not long-running,
// and authentication is the first step in it that the server itself provides. A watch gets no room, because its goroutine would keep it.
func withStack(inner authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		if info, ok := request.RequestInfoFrom(req.Context()); ok && info.Verb != "watch" {
			stack.Grow(stack.Deep)
		}
		return inner.AuthenticateRequest(req)
	})
}
