// Package schema holds an OpenAPI v3 schema as CustomResourceDefinitions carry
// it, with every keyword of CRD v1 and v1beta1, every x-kubernetes extension of
// upstream, and the extensions of Holdfast that upstream's typed schema drops.
//
// A node is one [Schema]. A keyword is a key of it. A marker is one of the four
// keywords that say what may not change. Logic is what stands under allOf,
// anyOf, oneOf and not; the rest of a schema is its spine. An edge is how a
// node holds a child.
//
//	s, unknown, err := schema.Decode(value) // value as JSON decoding gives it
//	out := schema.Encode(s)                 // equal to value, but for unknown keys and nulls
//
// Decode is strict: a keyword with a value of the wrong kind is an error with
// its path, and all errors are returned together. A key that is no keyword is
// reported and left to the caller. Decode and Walk are linear in the size of
// the schema (and sort the names of each node, so that every answer has one
// order), and depth and number of nodes are limited, see [Limits].
//
// Default, Enum and Example are held as they were given: a Schema shares them
// with the value it was decoded from and with what Encode returns. A Schema is
// safe for concurrent reading, and nothing in this package changes one.
package schema
