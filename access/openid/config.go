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

// Config says whose tokens are accepted: the provider of the flags, those of
// the file, or nobody's. The names are those of kube-apiserver's flags.
type Config struct {
	// File is an AuthenticationConfiguration; it excludes everything else.
	File string
	// IssuerURL is the provider, and ClientID the audience of its tokens.
	IssuerURL, ClientID string
	// CAFile verifies the provider's certificate; empty trusts those of the host.
	CAFile string
	// UsernameClaim names the user; empty is "sub". UsernamePrefix is put before
	// it: empty is the issuer's URL and "#" for other claims than "email", "-" is
	// none.
	UsernameClaim, UsernamePrefix string
	// GroupsClaim names the groups, each with GroupsPrefix before it.
	GroupsClaim, GroupsPrefix string
	// RequiredClaims are claims that a token must have, with their value.
	RequiredClaims map[string]string
	// SigningAlgs are accepted; none is RS256.
	SigningAlgs []string
}

// flagged reports whether any flag of a provider was given.
func (c Config) flagged() bool {
	return c.IssuerURL != "" || c.ClientID != "" || c.CAFile != "" || c.UsernamePrefix != "" ||
		c.GroupsClaim != "" || c.GroupsPrefix != "" || len(c.RequiredClaims) > 0
}

// providers are the descriptions of all providers, and the algorithms that
// their tokens may be signed with.
func (c Config) providers() ([]apiserver.JWTAuthenticator, error) {
	switch {
	case c.File != "" && c.flagged():
		return nil, errors.New("authentication configuration: the oidc flags cannot be given beside a file")
	case c.File != "":
		providers, err := load(c.File)
		if err != nil {
			return nil, fmt.Errorf("authentication configuration %s: %w", c.File, err)
		}
		return providers, nil
	case !c.flagged():
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

// fromFlags is the provider of the flags, as kube-apiserver understands them.
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

// load reads the providers of a file in any version of the kind; a field that
// the kind does not have is an error.
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
		return nil, errors.New("anonymous: not supported in the file, say it with --anonymous-auth")
	}
	return configuration.JWT, nil
}
