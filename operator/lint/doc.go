// Package lint finds parameters of a package that are not marked immutable although
// their value goes into a field that Kubernetes does not allow to change. Changing such
// a parameter later makes the server refuse the rendered object.
//
//	findings, err := lint.Frozen(ctx, p)
//
// The text of the templates is not analysed. Instead, the templates are rendered with a
// few values of each parameter, and the objects are compared with native/frozen, the
// table by which our server refuses updates. A field is reported if there are two values
// and an update is refused in both directions. A storage request, which may grow, is
// therefore not reported.
package lint
