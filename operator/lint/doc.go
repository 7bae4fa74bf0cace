// Package lint finds parameters of a package that flow into fields which
// Kubernetes freezes, but are not marked immutable: changing one later breaks the
// operator, because what it renders is then refused.
//
//	findings, err := lint.Frozen(ctx, p)
//
// Nothing is guessed from the text of templates. Each parameter is given a few
// values, the templates are rendered with each, and the objects are compared by
// the same table that the server refuses updates with, native/frozen. A field
// counts if there are two values of which neither can follow the other: a request
// for storage that may grow does not.
package lint
