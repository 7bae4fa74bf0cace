package apiserver

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"

	"holdfast.dev/holdfast/internal/access"
	"holdfast.dev/holdfast/internal/access/node"
	"holdfast.dev/holdfast/internal/access/rbac"
)

// applyAuthorization allows a request if it comes from an administrator, asks for health or for
// one of the public paths, comes from a node and concerns that node, or if the roles allow it. The authorizers run
// in this order.
func applyAuthorization(
	config *genericapiserver.Config, factory informers.SharedInformerFactory, nodes *node.Authorizer, public []string,
) (*rbac.Authorizer, error) {
	roles, err := rbac.New(factory.Rbac().V1())
	if err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	paths, err := path.NewAuthorizer(append(access.HealthPaths(), public...))
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
	config.Authorization.Authorizer = all
	config.RuleResolver = union.NewRuleResolvers(nodes, roles)
	return roles, nil
}
