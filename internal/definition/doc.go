// Package definition holds the part of CustomResourceDefinitions that needs no
// network and no storage: their Go types, defaults, validation, warnings and
// conditions, and the compiled form that the server uses to handle custom
// resources.
//
// The server stores [CustomResourceDefinition]. It has upstream's
// apiextensions.k8s.io/v1 fields, with three differences: the schema is kept as
// raw JSON, so that no extension is lost; the spec and each version have a prune
// flag; and the status can show the skeletons of the schemas.
// Package v1beta1 has the older API version and its conversion. A [Write] is a
// request that creates or updates a definition. A [Compiled] is one version of a
// definition, compiled for validating and pruning the objects of its kind.
// "Upstream" is Kubernetes' own k8s.io/apiextensions-apiserver.
//
//	unknown := definition.DropUnknown(crd) // the fields that fieldValidation reports
//	w := definition.Write{APIVersion: "v1", Old: oldCRD}
//	w.Prepare(crd)
//	errs, warnings := w.Validate(ctx, crd), w.Warnings(crd)
//	versions, err := definition.Compile(crd) // once per change of a definition
//
// A schema is validated twice. Packages skeleton and immutability validate the
// schema as the client wrote it. Upstream's rules accept only structural
// schemas, so they validate the schema in structural form: a structural schema
// that describes the same fields. A definition may therefore have a schema that is
// not structural. Mistakes in names, versions, conversion, columns, list types,
// defaults and CEL rules still get Kubernetes' error messages.
//
// A function changes a definition only if its comment says so. A [Compiled] is safe
// for concurrent use.
package definition
