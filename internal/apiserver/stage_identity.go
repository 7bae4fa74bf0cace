package apiserver

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/apiserver/start"
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
func identify(b start.Base, stored storageStage) (identityStage, error) {
	clients, err := newClients(b.Generic.LoopbackClientConfig)
	if err != nil {
		return identityStage{}, err
	}
	applyFairness(b.Generic, clients)
	tokens, err := newTokens(b, clients)
	if err != nil {
		return identityStage{}, err
	}
	revocations := revocation.NewRegistry()
	applySessions(b.Generic, revocations)
	in := access.Authentication{
		ClientCA: b.ClientCA.VerifyOptions, Tokens: tokens.authenticators, Revocations: revocations, Anonymous: b.Config.Anonymous,
		Public: publicPaths(b.Config),
	}
	if err := applyAuthentication(b, in); err != nil {
		return identityStage{}, err
	}
	operators := newOperators(clients)
	if !b.Config.WithoutOperators {
		operators.authenticate(&b.Generic.Authentication)
	}
	if clients.relations, err = node.NewRelations(clients.informers); err != nil {
		return identityStage{}, err
	}
	roles, err := applyAuthorization(b.Generic, clients.informers, node.NewAuthorizer(stored.usage, clients.relations), publicPaths(b.Config))
	if err != nil {
		return identityStage{}, err
	}
	return identityStage{
		clients: clients, tokens: tokens, revocations: revocations, roles: roles, authorizer: b.Generic.Authorization.Authorizer,
		operators: operators,
	}, nil
}
