// Package change compares two versions of a CustomResourceDefinition and finds the changes
// that break clients or stored objects.
//
// A change is breaking (finding.Error) if a request that was accepted is refused from now
// on, if clients can no longer find a resource or field that they use, or if stored objects
// lose data. It is a warning if the same request has another effect, and a note if nothing
// that worked stops working. A hit is an object that a change affects.
//
//	changes := change.Compare(ctx, oldCRD, newCRD)
//	kind, err := change.Compile(oldCRD, newCRD)
//	hits := kind.Hits(ctx, changes, objects)
//
// Versions are compared by their name. A change of a schema is at the path of the node in the
// new definition; a node that is gone has the path that it had.
package change

import (
	"cmp"
	"context"
	"slices"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/value"
)

// Change is one difference between two versions of a definition.
type Change struct {
	Rule     string
	Severity finding.Severity
	// Path is the place in the definition.
	Path string
	// Message says what changed, Reason what follows from it.
	Message, Reason string
	// Version and Field are the version and the field of the objects that the change is about,
	// empty for the definition itself. The field is a pattern: spec.ports[*].port.
	Version, Field string

	hit hit
	// steps are those of Field. They are parsed once, because each object is compared with each change.
	steps []value.Step
	// isUnknown says that Field cannot be parsed. Such a change hits no object by its field.
	isUnknown bool
	// isStored is true if objects are stored in the version.
	isStored bool
	// wasNested says that the old type of the field was an object or a list, and that the new one is another.
	wasNested bool
}

// hit says which objects a change affects.
type hit uint8

const (
	noObject        hit = iota
	everyObject         // all objects of the kind
	withField           // objects that have the field
	withoutField        // objects that do not have it, but its parent
	withError           // objects that the new schema refuses at the field
	withLoss            // objects that lose data at the field
	withStorageLoss     // objects that lose it when they are written again, in another version
)

// Compare returns the changes between two definitions with the same name, the breaking ones
// first.
func Compare(ctx context.Context, oldCRD, newCRD *definition.CustomResourceDefinition) []Change {
	c := &comparison{oldCRD: oldCRD, newCRD: newCRD}
	c.refused(ctx)
	return c.all()
}

// Accepted is Compare for an update that the server has validated already.
func Accepted(oldCRD, newCRD *definition.CustomResourceDefinition) []Change {
	return (&comparison{oldCRD: oldCRD, newCRD: newCRD}).all()
}

func (c *comparison) all() []Change {
	c.names()
	c.versions()
	c.retired()
	c.conversion()
	c.storage()
	for i := range c.newCRD.Spec.Versions {
		v := &c.newCRD.Spec.Versions[i]
		if old := c.oldCRD.Spec.Version(v.Name); old != nil {
			c.subresources(i, old, v)
			c.schemas(i, old, v)
		}
	}
	c.joinVersions()
	for i := range c.found {
		c.found[i].parse()
	}
	slices.SortStableFunc(c.found, func(a, b Change) int { return cmp.Compare(b.Severity, a.Severity) })
	return c.found
}

// parse sets the steps of the field.
func (c *Change) parse() {
	pattern, err := value.ParsePattern(c.Field)
	c.steps, c.isUnknown = pattern.Steps(), err != nil
}

// comparison collects the changes between two definitions.
type comparison struct {
	oldCRD, newCRD *definition.CustomResourceDefinition
	found          []Change
}

func (c *comparison) add(change Change) { c.found = append(c.found, change) }

// text returns a value for a message, cut if it is long.
func text(v any) string { return value.Printer{LiteralHTML: true}.Print(v) }
