// Package token issues and authenticates the bearer tokens of service accounts, and
// authenticates the tokens of a static file.
//
//	issuer, err := token.NewIssuer(url, key)
//	tokens := token.NewAuthenticator(issuer, objects, audiences)
//
// A service account token is a JWT, signed with an RSA or ECDSA key, with the same claims as in
// Kubernetes. It names the service account and may be bound to a Pod, a Secret or a
// Node. It is valid until it expires, and only while the account and the bound
// object exist with the UIDs in the token.
//
// For every request, the authenticator looks up these objects, in informers where
// it can. Only the result of verifying the signature is cached. No error contains a
// token or a part of one.
package token
