// Package policy holds the default ClusterRoles and ClusterRoleBindings and
// creates them in the server.
//
//	err := policy.Reconcile(ctx, client.RbacV1(), policy.Default())
//
// Names and rules are those of Kubernetes, limited to the resources that this
// server has, plus rules for the kinds of operator packages (kudo.dev). Reconcile
// runs at every start. It restores missing rules and subjects and keeps those that
// an administrator added. It does not touch an object with the annotation
// rbac.authorization.kubernetes.io/autoupdate: "false".
package policy
