// Package schema has the OpenAPI v3 schema of CustomResourceDefinitions as a Go type. It
// knows every keyword of CRD v1 and v1beta1, every x-kubernetes extension of upstream,
// and the extensions of Holdfast, which upstream's own Go type drops.
//
// A node is one [Schema]. A keyword is a key of a node. A marker is one of the four
// keywords that say what may not change: x-kubernetes-immutable, -immutable-keys,
// -addition-only and -deletion-only. Logic is the nodes below allOf, anyOf, oneOf and
// not; the rest of a schema is its spine. An edge says by which keyword a node has a
// child.
//
//	s, unknown, err := schema.Decode(value) // value as JSON decoding gives it
//	out := schema.Encode(s)                 // equal to value, but for unknown keys and nulls
//
// Decode is strict: a keyword with a value of the wrong type is an error with its path,
// and all errors are returned together. Keys that are no keywords are returned to the
// caller. Decode and Walk are linear in the size of the schema, except that they sort
// the names of each node, so that results have a fixed order. [Limits] limits the depth
// and the number of nodes.
//
// Default, Enum and Example are not copied: a Schema shares them with the value it was
// decoded from and with the result of Encode. A Schema is safe for concurrent reading.
// Nothing in this package changes one.
//
// Other programs may import this package. Its API follows semantic versions: before version 1.0.0 of Holdfast, a minor version
// may change it, and CHANGELOG.md says how.
package schema
