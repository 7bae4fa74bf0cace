package skeleton

import "holdfast.dev/holdfast/schema"

// shape is one node of a derived skeleton.
type shape struct {
	typ      string
	nullable bool
	binds    bool // the type holds for every value the schema accepts
	nullFits bool // a null passes the type, see builder.merge

	properties map[string]*shape
	patterns   map[string]*shape
	additional *shape // additionalProperties; nil where absent or false
	items      *shape // items as one schema
	tuple      []*shape
	rest       *shape // additionalItems; nil where absent or false

	// anyKey and anyRest say that additionalProperties and additionalItems were
	// given as true and never as a schema, which matters for showing only.
	anyKey  bool
	anyRest bool

	// spine is the node of the schema outside of logic, nil for a place that
	// only logic names. Extensions and defaults are read from it.
	spine *schema.Schema
}

// Skeleton is the shape of one schema, ready for use. Make one with Build.
type Skeleton struct {
	shape *shape
	root  *node
}

// Build derives the skeleton of s. It takes any schema, also one that Rules
// refuses, and then errs on the side of keeping data: a pattern that is no
// regular expression matches every key, and a list with both forms of items is
// left alone. A nil schema has the skeleton of the empty one.
func Build(s *schema.Schema) *Skeleton {
	root := derive(s)
	return &Skeleton{shape: root, root: compileRoot(root)}
}
