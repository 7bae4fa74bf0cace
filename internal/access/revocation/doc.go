// Package revocation ends credentials before they expire. Administrators keep a list of
// revoked credentials in a ConfigMap. The server watches the list, rejects requests with a
// credential on it, and ends the watches of such a credential.
//
//	registry := revocation.NewRegistry()
//	requests := registry.Request(union.New(registry.Certificate(certificates), bearertoken.New(registry.Token(tokens))))
//	handler = registry.WithSessions(handler, isLongRunning, atEnd)
//	err := registry.Watch(ctx, client, changed)
//
// A credential is a client certificate or a bearer token. An entry of the list names one
// credential, or all credentials of a user or a node. A session is a request from its
// authentication to its end. The server ends the sessions of long-running requests, such as watches.
//
// Until the list was read for the first time, authentication waits for it, up to ten seconds, and
// then rejects the request. If a server that starts cannot parse the list, it rejects every
// credential but a new certificate of the administrator, until the list is correct. A check is a few
// map lookups. A Registry is safe for concurrent use.
package revocation
