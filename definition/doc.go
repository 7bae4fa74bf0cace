// Package definition is everything about a CustomResourceDefinition that needs
// neither a connection nor a store: its types, defaults, rules, warnings and
// conditions, and what custom resources are handled with.
//
// The stored form is [CustomResourceDefinition], which is the v1 form of
// apiextensions.k8s.io: upstream's fields, with the schema kept as the bytes it
// came in, so that no extension is lost, and with a flag per version that says
// whether objects are pruned. Package v1beta1 has the older form and its
// conversion. A write is a request that creates or changes a definition; it is
// prepared, validated, and warned about. A compiled version is what one version
// of a definition means for the objects of its kind.
//
//	unknown := definition.DropUnknown(crd) // what fieldValidation is about
//	w := definition.Write{APIVersion: "v1", Old: oldCRD}
//	w.Prepare(crd)
//	errs, warnings := w.Validate(ctx, crd), w.Warnings(crd)
//	versions, err := definition.Compile(crd) // once per change of a definition
//
// A schema is judged twice. Package skeleton and package immutability judge it
// as it stands. Upstream's own rules for definitions judge a stand-in, which is
// a structural schema that describes the same shape: so non-structural schemas
// are accepted, and names, versions, conversion, columns, list types, defaults
// and CEL rules are refused in Kubernetes' words.
//
// Nothing here changes a definition that it is given, except Prepare and the
// functions that say so. A [Compiled] is safe for concurrent use.
package definition
