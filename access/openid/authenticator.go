package openid

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

// Server is what the providers' tokens are accepted by.
type Server struct {
	// Audiences are those of the API, for which a provider's token is good.
	Audiences authenticator.Audiences
	// Issuer is the one of service accounts, which no provider may be.
	Issuer string
	// ID tells servers apart in metrics.
	ID string
}

// New accepts the tokens of the providers that config describes, and none if it
// describes none. Fetching their keys ends with ctx.
func New(ctx context.Context, config Config, server Server) ([]authenticator.Token, error) {
	providers, err := config.providers()
	if err != nil || len(providers) == 0 {
		return nil, err
	}
	compiler, disallowed := authenticationcel.NewDefaultCompiler(), []string{server.Issuer}
	// The whole list is judged too: two providers of one issuer cannot be told apart.
	all := &apiserver.AuthenticationConfiguration{JWT: providers}
	if errs := validation.ValidateAuthenticationConfiguration(compiler, all, disallowed); len(errs) > 0 {
		return nil, fmt.Errorf("authentication configuration: %w", errs.ToAggregate())
	}
	algorithms := config.SigningAlgs
	if config.File != "" {
		algorithms = oidc.AllValidSigningAlgorithms()
	}
	tokens := make([]authenticator.Token, 0, len(providers))
	for _, provider := range providers {
		options := oidc.Options{
			JWTAuthenticator: provider, Compiler: compiler, SupportedSigningAlgs: algorithms,
			DisallowedIssuers: disallowed, APIServerID: server.ID,
		}
		if ca := provider.Issuer.CertificateAuthority; ca != "" {
			if options.CAContentProvider, err = dynamiccertificates.NewStaticCAContent("openid", []byte(ca)); err != nil {
				return nil, fmt.Errorf("oidc: %s: certificate authority: %w", provider.Issuer.URL, err)
			}
		}
		token, err := oidc.New(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("oidc: %s: %w", provider.Issuer.URL, err)
		}
		tokens = append(tokens, authenticator.WrapAudienceAgnosticToken(server.Audiences, named{token}))
	}
	return tokens, nil
}

// named refuses tokens whose claim of the user is there and empty: the library
// makes a user without a name of them.
type named struct{ authenticator.Token }

var errNoUser = errors.New("oidc: the claim of the user's name is empty")

// AuthenticateToken implements authenticator.Token.
func (n named) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	response, ok, err := n.Token.AuthenticateToken(ctx, token)
	if err == nil && ok && response.User.GetName() == "" {
		return nil, false, errNoUser
	}
	return response, ok, err
}
