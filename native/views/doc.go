// Package views provides the built-in kinds for package ownership, which checks who owns
// the fields of an object. A view defines what counts as one field: client-side apply
// merges lists by the patch strategies in the published schema, server-side apply by its
// list types.
//
//	types := views.New()
//	t := types.Of(schema.GroupKind{Group: "apps", Kind: "Deployment"})
//	content, err := views.Content(deployment)
//
// The schema is read once, by the first call of Of. All functions are safe for concurrent
// use.
package views
