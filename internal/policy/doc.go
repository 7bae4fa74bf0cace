// Package policy has ImmutabilityPolicies: rules for resources whose definition their author does not own. The guard and the server
// both use it, so a policy means the same in both.
//
//	table, err := policy.Compiler{Server: server}.Compile(ctx, policy.Inputs{Policies: policies})
//	found, err := table.Resources[name].Sources[0].Rules.Check(ctx, update)
//
// A rule is a line such as "immutable spec.size", see immutability.Annotation. A source is what has
// rules: the annotation of a CustomResourceDefinition, or a policy. A resource is
// guarded if a source has a rule for it. A table has the rules of all guarded resources. It never changes.
package policy
