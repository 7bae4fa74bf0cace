package apiserver

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/access/revocation"
)

// identityStage has the parts that authenticate and authorize clients, and the clients by which
// the server's own parts reach its API.
type identityStage struct {
	clients *clients
	tokens  *tokens
	// revocations has the list of revoked credentials.
	revocations *revocation.Registry
	roles       *rbac.Authorizer
	// authorizer is the union of all authorizers; roles is one of them.
	authorizer authorizer.Authorizer
	// operators is not used if the server runs no operator packages.
	operators operators
}

// identify is the stage of authentication and authorization.
func identify(b base, stored storageStage) (identityStage, error) {
	clients, err := newClients(b.generic.LoopbackClientConfig)
	if err != nil {
		return identityStage{}, err
	}
	applyFairness(b.generic, clients)
	tokens, err := newTokens(b, clients)
	if err != nil {
		return identityStage{}, err
	}
	revocations := revocation.NewRegistry()
	applySessions(b.generic, revocations)
	in := access.Authentication{
		ClientCA: b.clientCA.VerifyOptions, Tokens: tokens.authenticators, Revocations: revocations, Anonymous: b.config.Anonymous,
		Public: publicPaths(b.config),
	}
	if err := applyAuthentication(b, in); err != nil {
		return identityStage{}, err
	}
	operators := newOperators(clients)
	if !b.config.WithoutOperators {
		operators.authenticate(&b.generic.Authentication)
	}
	if clients.relations, err = node.NewRelations(clients.informers); err != nil {
		return identityStage{}, err
	}
	roles, err := applyAuthorization(b.generic, clients.informers, node.NewAuthorizer(stored.usage, clients.relations), publicPaths(b.config))
	if err != nil {
		return identityStage{}, err
	}
	return identityStage{
		clients: clients, tokens: tokens, revocations: revocations, roles: roles, authorizer: b.generic.Authorization.Authorizer,
		operators: operators,
	}, nil
}
