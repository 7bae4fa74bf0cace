// Package policies enforces ImmutabilityPolicies in the server. See package policy for their words.
//
//	rules, err := policies.New(config)
//	errs := rules.CheckBuiltIn(ctx, policies.BuiltIn{Kind: kind, New: newObj, Old: oldObj})
//
// [Rules] has the table of rules. The registries of built-in kinds and of custom resources ask it about each update, also about
// those of subresources. Run follows the policies, the definitions of custom resources and the files of --rules-dir, and replaces
// the table after each change. The answer to a write of a policy waits until this server enforces the policy. Another server needs
// the time in which the change of the policy reaches it.
//
// A write that no rule can forbid costs a lookup in a map. Before the first table is there, updates of clients wait, so a restart
// does not leave a gap. All functions of Rules are safe for concurrent use. A nil *Rules enforces nothing.
package policies
