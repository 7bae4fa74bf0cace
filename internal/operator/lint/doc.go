// Package lint finds parameters of a package that are not marked immutable although
// their value goes into a field that Kubernetes does not allow to change. Changing such
// a parameter later makes the server refuse the rendered object.
//
//	findings, err := lint.Frozen(ctx, p)
//
// Package lint does not analyse the text of the templates. It renders them with a few
// values of each parameter, and compares the rendered objects with the rules of
// native/frozen, by which our server refuses updates of immutable fields. It reports a
// field if there are two values of the parameter such that the update from one to the
// other is refused in both directions. It therefore does not report a storage request,
// which may grow.
package lint
