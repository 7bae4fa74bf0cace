// Package stock compiles the markers of a CustomResourceDefinition to CEL, for a stock cluster: a
// Kubernetes cluster whose API server does not know the markers.
//
// There are two targets. [CEL] puts transition rules into the schemas of the definition. [Policy]
// makes a ValidatingAdmissionPolicy for each version, with a binding. In both, the markers move
// from the schemas to the annotation [immutability.Annotation], so that the compiled definition
// still says what it protects, and can be compiled again.
//
//	result := stock.Compile(ctx, object, stock.Options{Target: stock.CEL})
//
// The compiled rules refuse the updates that package immutability refuses. A refusal is a marker,
// or a keyword, for which that is not possible: CEL cannot express it, or Kubernetes does not
// allow rules that expensive. A definition with a refusal is not compiled at all.
//
// An operand is the CEL expression for a value in the old or the new object. A node has a plain
// value if the operator == of CEL agrees with the equality of package immutability there. The
// operator depends on the target: rules in a schema know the types of lists, and compare lists of
// type map and set without their order; policies compare all lists in order. In an object in a
// schema, null and absent are the same for CEL.
package stock
