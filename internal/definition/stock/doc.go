// Package stock compiles the markers of a CustomResourceDefinition to CEL, for a stock cluster: a
// Kubernetes cluster whose API server does not know the markers.
//
// [CEL] puts transition rules into the schemas of the definition. [Policy] makes a
// ValidatingAdmissionPolicy for each version, with a binding. In both, the markers move from the
// schemas to the annotation [immutability.Annotation], so that the compiled definition still says
// what it protects, and can be compiled again. [Annotation] only moves the markers, for the guard,
// and [Markers] moves them back.
//
//	result := stock.Compile(ctx, object, stock.Options{Target: stock.CEL})
//
// A marker is a set of constraints. The lines of the annotation that no schema can have, the marks, are rules of
// their own: those with a condition, about metadata, about deletions, and second rules on a field.
//
// The compiled rules refuse the updates that package immutability refuses. A note says where one does not. A refusal says that
// there is no such rule for a marker or a keyword: CEL cannot express it, or the rule costs more
// than Kubernetes allows. A definition with a refusal is not compiled at all.
//
// An operand is the CEL expression for a value in the old or in the new object. A value is plain if
// the operator == of CEL compares it as package immutability does. Two values that are not plain
// are compared part by part. The operator depends on the target. In a schema, it knows the types of
// lists and ignores the order of lists of type map and set, and a property that is null equals an
// absent one. In a policy, it compares all lists in order.
package stock
