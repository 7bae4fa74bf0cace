// Package openid lets people in with tokens of an OpenID Connect provider.
//
//	tokens, err := openid.New(ctx, config, openid.Server{Audiences: audiences, Issuer: url})
//
// Providers are described by the flags of kube-apiserver, one provider, or by
// its AuthenticationConfiguration file, any number of them. Discovery and keys
// are fetched when the provider answers: a server starts, and everybody else
// comes in, while a provider is away.
//
// Promises: tokens are checked by the library that kube-apiserver uses; a token
// of another issuer is no error and is left to others. Nothing of a token is
// kept, and what New starts ends with its context.
package openid
