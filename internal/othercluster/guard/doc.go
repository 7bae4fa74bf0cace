// Package guard protects immutable fields on a cluster that another API server serves, keeps objects from being deleted, and judges
// field ownership and changes of definitions there, as validating admission webhooks. The engines, the answers and their
// texts are those of our own server.
//
//	err := guard.Run(ctx, guard.Config{Client: config, Webhook: listener})
//
// A rule is a line such as "immutable spec.size", see immutability.Annotation. A source is what has
// rules: the annotation of a CustomResourceDefinition, or a [policy.ImmutabilityPolicy]. A resource is
// guarded if a source has a rule for it. A review is the question of the API server about one write. The token is the last part
// of the paths in the webhook configuration: a client that knows it is an API server.
//
// The webhook for immutable fields refuses what it cannot judge. The one for field ownership lets it
// through with a note, and the API server asks it only about objects that were applied.
//
// Every replica answers reviews from its table of rules, which follows the definitions and the
// policies. The leader also writes the webhook configuration, with exactly the guarded resources, and
// the status of the policies. [policy.Excluded] resources and namespaces are never guarded, so that a guard
// that does not answer cannot stop the cluster. When Run returns, all goroutines that it started have
// ended.
package guard
