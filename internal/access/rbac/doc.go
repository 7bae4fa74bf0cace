// Package rbac authorizes requests by the Roles, ClusterRoles and bindings that
// are stored in the API, and aggregates ClusterRoles. Package admission/escalation
// prevents users from granting permissions that they do not have.
//
//	a, err := rbac.New(factory.Rbac().V1()) // before the factory starts
//	decision, reason, err := a.Authorize(ctx, attributes)
//
// A grant is a RoleBinding or ClusterRoleBinding that has the user, or one of the
// user's groups, as a subject. Decisions, reasons and error messages are the same
// as in Kubernetes.
//
// Bindings are indexed by subject. Authorize does one index lookup for the user
// name and one for each group, and the same again if the request has a namespace.
// Its cost does not depend on the number of bindings of other users. The informers
// are the only cache. An Authorizer is safe for concurrent use and does
// not modify the informers' objects.
package rbac
