package identity

import (
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/access/revocation"
	"holdfast.dev/holdfast/internal/access/token"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// Stage has the parts that authenticate and authorize clients.
type Stage struct {
	// TokenRequests issues the tokens of service accounts.
	TokenRequests *token.Requests
	// tokens authenticate bearer tokens, in this order.
	tokens []authenticator.Token
	// revocations has the list of revoked credentials.
	revocations *revocation.Registry
	// Authorizer is the union of all authorizers; Roles is one of them.
	Authorizer authorizer.Authorizer
	// Roles authorizes by RBAC.
	Roles *rbac.Authorizer
	// Relations finds the objects that belong to a node although no pod names them, such as the
	// volumes behind claims.
	Relations *node.Relations
	// Operators is not used if the server runs no operator packages.
	Operators Operators
}

// Apply is the stage of authentication and authorization. The index says which objects the pods of each node use.
func Apply(b start.Base, usage *node.Index) (Stage, error) {
	requests, err := newTokenRequests(b)
	if err != nil {
		return Stage{}, err
	}
	tokens, err := newTokens(b, requests)
	if err != nil {
		return Stage{}, err
	}
	revocations := revocation.NewRegistry()
	applySessions(b.Generic, revocations)
	in := access.Authentication{
		ClientCA: b.ClientCA.VerifyOptions, Tokens: tokens, Revocations: revocations, Anonymous: b.Config.Anonymous,
		Public: publicPaths(b.Config),
	}
	if err := applyAuthentication(b, in); err != nil {
		return Stage{}, err
	}
	operators := newOperators(b.Clients.Typed)
	if !b.Config.WithoutOperators {
		operators.authenticate(&b.Generic.Authentication)
	}
	relations, err := node.NewRelations(b.Clients.Informers)
	if err != nil {
		return Stage{}, err
	}
	roles, err := applyAuthorization(b, node.NewAuthorizer(usage, relations))
	if err != nil {
		return Stage{}, err
	}
	return Stage{
		TokenRequests: requests, tokens: tokens, revocations: revocations, Authorizer: b.Generic.Authorization.Authorizer, Roles: roles,
		Relations: relations, Operators: operators,
	}, nil
}
