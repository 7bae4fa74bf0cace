// Package openid authenticates users with the tokens of OpenID Connect providers.
//
//	tokens, err := openid.New(ctx, config, openid.Server{Audiences: audiences, Issuers: urls})
//
// One provider can be configured with the flags of kube-apiserver, or any number of
// providers with its AuthenticationConfiguration file. The discovery documents and
// keys are fetched in the background. If a provider is unavailable, the server still
// starts, and other credentials still work.
//
// A provider cannot name users and groups of the server itself, whose names begin with
// "system:", such as system:masters. A token with such a user name is rejected. A group
// with such a name is dropped from the token.
//
// The authenticators are those of kube-apiserver. For a token of another issuer they
// return no error, so that the next authenticator is tried. They do not cache
// tokens. Goroutines that New starts stop when its context ends.
package openid
