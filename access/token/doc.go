// Package token makes and checks the bearer tokens of service accounts, and
// reads those of a static file.
//
//	issuer, err := token.NewIssuer(url, key)
//	tokens := token.NewAuthenticator(issuer, objects, audiences)
//
// A token of a service account is a JWT signed with ES256. It names the account
// and may be bound to a Pod, a Secret or a Node: it is good until it expires,
// and only while the account and what it is bound to exist under the UIDs that
// it was made for. Claims are those of Kubernetes.
//
// Promises: whether a token's objects are still there is asked for every
// request, of informers; only the check of its signature is remembered. No
// token, and no part of one, is in an error.
package token
