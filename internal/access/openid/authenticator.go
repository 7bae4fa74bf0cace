package openid

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

// Server describes the API server that accepts the tokens.
type Server struct {
	// Audiences are the API's audiences. A provider's token is valid for them.
	Audiences authenticator.Audiences
	// Issuers are the issuer URLs of service account tokens. A provider must not have one of
	// these URLs.
	Issuers []string
	// ID identifies the server in metrics.
	ID string
}

// New returns an authenticator for each provider in config, or none if config is
// empty. Goroutines that fetch the keys of the providers run until ctx ends.
func New(ctx context.Context, config Config, server Server) ([]authenticator.Token, error) {
	providers, err := config.providers()
	if err != nil || len(providers) == 0 {
		return nil, err
	}
	compiler, disallowed := authenticationcel.NewDefaultCompiler(), server.Issuers
	// Validate the providers together, because two of them must not have the same
	// issuer URL.
	all := &apiserver.AuthenticationConfiguration{JWT: providers}
	errs := validation.ValidateAuthenticationConfiguration(compiler, all, disallowed)
	if errs = append(errs, checkPrefixes(providers)...); len(errs) > 0 {
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
		tokens = append(tokens, authenticator.WrapAudienceAgnosticToken(server.Audiences, newNameFilter(token, provider.Issuer.URL)))
	}
	return tokens, nil
}
