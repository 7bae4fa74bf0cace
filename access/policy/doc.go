// Package policy holds the ClusterRoles and ClusterRoleBindings that clients of
// Kubernetes expect to find, and puts them in place.
//
//	err := policy.Reconcile(ctx, client.RbacV1())
//
// They are Kubernetes' own, by name and by rule, for what is served here. What
// an administrator adds to one of them stays; a rule or a subject that is
// missing comes back at the next start, unless the object has the annotation
// rbac.authorization.kubernetes.io/autoupdate: "false".
package policy
