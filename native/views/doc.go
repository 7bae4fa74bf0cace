// Package views says, for package ownership, what the fields of the built-in
// kinds are: for client-side apply by the patch strategies, for server-side apply
// by the list types of the published schema.
//
//	types := views.New()
//	t := types.Of(schema.GroupKind{Group: "apps", Kind: "Deployment"})
//	content, err := views.Content(deployment)
//
// The schema is read when the first type is asked for, once. Everything here is
// safe for concurrent use.
package views
