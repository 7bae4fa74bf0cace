// Package views describes the built-in kinds for package ownership, which checks the owners
// of the fields of an object. A view defines what counts as one field. Client-side apply
// merges lists by the patch strategies in the published schema. Server-side apply merges
// them by the list types in that schema.
//
//	types := views.New()
//	t := types.Of(schema.GroupKind{Group: "apps", Kind: "Deployment"})
//	content, err := views.Content(deployment)
//
// The schema is read once, by the first call of Of. All functions are safe for concurrent
// use.
package views
