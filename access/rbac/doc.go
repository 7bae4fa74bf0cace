// Package rbac answers who may do what from the Roles, ClusterRoles and their
// bindings that are stored in the API, and keeps people from granting what they
// do not hold.
//
//	a, err := rbac.New(factory.Rbac().V1()) // before the factory starts
//	decision, reason, err := a.Authorize(ctx, attributes)
//
// Its words: a subject is a user, a group or a service account; a grant is one
// binding that names a subject, with the rules of the role it refers to. The
// answers, their reasons and the messages of refusals are those of Kubernetes.
//
// Promises: a request costs one look-up per name of the user (its own and its
// groups'), twice when it has a namespace, and the grants found there; how many
// bindings there are for others does not matter. Nothing is cached beside the
// informers, so an answer is as old as they are. Everything is safe for use by
// many goroutines, and no object of an informer is changed.
package rbac
