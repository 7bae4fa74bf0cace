package openid

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
)

// Config describes the providers: either one provider, in the fields that correspond
// to the oidc flags of kube-apiserver, or any number of providers in a file. The zero
// value has no provider.
type Config struct {
	// File is the path of an AuthenticationConfiguration. If it is set, the other
	// fields must not describe a provider.
	File string
	// IssuerURL is the URL of the provider, ClientID the audience of its tokens.
	IssuerURL, ClientID string
	// CAFile is the path of the CA certificates that verify the provider's serving
	// certificate. If it is empty, the CA certificates of the host verify it.
	CAFile string
	// UsernameClaim is the claim with the user name, by default "sub".
	// UsernamePrefix is added in front of the user name. If it is empty, the prefix
	// is IssuerURL and "#", or none for the claim "email". The value "-" means no
	// prefix.
	UsernameClaim, UsernamePrefix string
	// GroupsClaim is the claim with the groups. GroupsPrefix is added in front of
	// each group.
	GroupsClaim, GroupsPrefix string
	// RequiredClaims are claims, with their values, that a token must have.
	RequiredClaims map[string]string
	// SigningAlgs are the accepted signing algorithms, by default RS256.
	SigningAlgs []string
}

// hasFlags reports whether a field for a flag of the provider is set. UsernameClaim
// and SigningAlgs do not count, because the flags have defaults.
func (c Config) hasFlags() bool {
	return c.IssuerURL != "" || c.ClientID != "" || c.CAFile != "" || c.UsernamePrefix != "" ||
		c.GroupsClaim != "" || c.GroupsPrefix != "" || len(c.RequiredClaims) > 0
}

// providers returns the configurations of all providers.
func (c Config) providers() ([]apiserver.JWTAuthenticator, error) {
	switch {
	case c.File != "" && c.hasFlags():
		return nil, errors.New("authentication configuration: the oidc flags cannot be combined with a file")
	case c.File != "":
		providers, err := load(c.File)
		if err != nil {
			return nil, fmt.Errorf("authentication configuration %s: %w", c.File, err)
		}
		return providers, nil
	case !c.hasFlags():
		return nil, nil
	case c.IssuerURL == "" || c.ClientID == "":
		return nil, errors.New("oidc: issuer URL and client ID belong together, and are needed for every other oidc flag")
	}
	provider, err := c.fromFlags()
	if err != nil {
		return nil, err
	}
	return []apiserver.JWTAuthenticator{provider}, nil
}

// fromFlags returns the provider that the flags describe, with the same defaults as
// in kube-apiserver.
func (c Config) fromFlags() (apiserver.JWTAuthenticator, error) {
	claim, prefix := c.UsernameClaim, c.UsernamePrefix
	if claim == "" {
		claim = "sub"
	}
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && claim != "email":
		prefix = c.IssuerURL + "#"
	}
	provider := apiserver.JWTAuthenticator{
		Issuer:        apiserver.Issuer{URL: c.IssuerURL, Audiences: []string{c.ClientID}},
		ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Claim: claim, Prefix: &prefix}},
	}
	if c.GroupsClaim != "" {
		groups := c.GroupsPrefix
		provider.ClaimMappings.Groups = apiserver.PrefixedClaimOrExpression{Claim: c.GroupsClaim, Prefix: &groups}
	}
	for _, name := range slices.Sorted(maps.Keys(c.RequiredClaims)) {
		provider.ClaimValidationRules = append(provider.ClaimValidationRules, apiserver.ClaimValidationRule{
			Claim: name, RequiredValue: c.RequiredClaims[name],
		})
	}
	if c.CAFile != "" {
		ca, err := os.ReadFile(c.CAFile)
		if err != nil {
			return provider, fmt.Errorf("oidc certificate authority: %w", err)
		}
		provider.Issuer.CertificateAuthority = string(ca)
	}
	return provider, nil
}

// load reads the providers from an AuthenticationConfiguration of any version. An
// unknown field is an error.
func load(path string) ([]apiserver.JWTAuthenticator, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	decoded, err := runtime.Decode(codecs.UniversalDecoder(), data)
	if err != nil {
		return nil, err
	}
	configuration, ok := decoded.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("kind is %s, want AuthenticationConfiguration", decoded.GetObjectKind().GroupVersionKind().Kind)
	}
	if configuration.Anonymous != nil {
		return nil, errors.New("anonymous: not supported in the file, use --anonymous-auth")
	}
	return configuration.JWT, nil
}
