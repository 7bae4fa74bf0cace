package identity

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/access/rbac"
	"holdfast.dev/holdfast/internal/apiserver/config"
	"holdfast.dev/holdfast/internal/apiserver/console"
	"holdfast.dev/holdfast/internal/apiserver/start"
)

// applyAuthorization allows a request if it comes from an administrator, asks for health or for
// one of the public paths, comes from a node and concerns that node, or if the roles allow it. The authorizers run
// in this order.
func applyAuthorization(b start.Base, nodes *node.Authorizer) (*rbac.Authorizer, error) {
	roles, err := rbac.New(b.Clients.Informers.Rbac().V1())
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	paths, err := path.NewAuthorizer(append(access.HealthPaths(), publicPaths(b.Config)...))
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	administrators := authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)
	var all authorizer.Authorizer
	all, err = union.New(
		union.NamedAuthorizer{AuthorizerName: "administrators", Authorizer: administrators},
		union.NamedAuthorizer{AuthorizerName: "public paths", Authorizer: paths},
		union.NamedAuthorizer{AuthorizerName: "nodes", Authorizer: nodes},
		union.NamedAuthorizer{AuthorizerName: "RBAC", Authorizer: roles},
	)
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	b.Generic.Authorization.Authorizer = all
	b.Generic.RuleResolver = union.NewRuleResolvers(nodes, roles)
	return roles, nil
}

// publicPaths returns the paths that need no role, beside the health checks: the files of the console, which contain no data, and the
// refused writes, whose handler asks for a credential and for the right to get each object.
func publicPaths(config config.Server) []string {
	if !config.Console {
		return nil
	}
	return append(console.Paths(), console.RefusedPath)
}
