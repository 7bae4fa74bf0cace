package change

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// storage reports fields of stored versions that the storage version does not have. Without a webhook, an object is stored without them
// when it is written again.
func (c *comparison) storage() {
	storage := c.newCRD.Spec.StorageVersion()
	index := slices.IndexFunc(c.newCRD.Spec.Versions, func(v definition.CustomResourceDefinitionVersion) bool { return v.Storage })
	if index < 0 || !c.newCRD.Spec.ConvertsNothing() || !c.newCRD.Spec.Pruned(storage) {
		return
	}
	var reported []unplaced
	for i := range c.oldCRD.Spec.Versions {
		v := &c.oldCRD.Spec.Versions[i]
		if v.Name == storage || !c.isStored(v.Name) {
			continue
		}
		var known []unplaced
		if c.oldCRD.Spec.ConvertsNothing() {
			// The old storage version may lack some of them, too. A webhook may have kept them.
			known = missing(c.oldCRD, v, c.oldCRD, c.oldCRD.Spec.StorageVersion())
		}
		for _, field := range missing(c.oldCRD, v, c.newCRD, storage) {
			if slices.Contains(known, field) || slices.Contains(reported, field) {
				continue
			}
			reported = append(reported, field)
			change := Change{
				Rule: storageRule, Severity: finding.Error, Path: fmt.Sprintf("spec.versions[%d].storage", index),
				Message: fmt.Sprintf("version %s, in which objects are stored, does not have %s of version %s", storage, orRoot(field.path), v.Name),
				Reason:  "an object loses it with the next write", Field: field.path, hit: withStorageLoss,
			}
			if field.hasOtherType {
				change.Message = fmt.Sprintf("version %s, in which objects are stored, has another type for %s than version %s", storage, field.path, v.Name)
				change.Reason = "an object loses what is below it with the next write"
			}
			c.add(change)
		}
	}
}

// unplaced is a field of a version for which another version has no place.
type unplaced struct {
	// path is a pattern, as that of Change.Field.
	path string
	// hasOtherType says that the other version has the field, but drops what is below it.
	hasOtherType bool
}

// missing returns the fields of a version that another version drops, or whose content it drops.
func missing(ofCRD *definition.CustomResourceDefinition, of *definition.CustomResourceDefinitionVersion,
	inCRD *definition.CustomResourceDefinition, in string,
) []unplaced {
	v := inCRD.Spec.Version(in)
	if v == nil || v == of || !inCRD.Spec.Pruned(in) {
		return nil
	}
	before, _, oldErr := of.DecodeSchema()
	after, _, newErr := v.DecodeSchema()
	if oldErr != nil || newErr != nil {
		return nil
	}
	s := &schemaComparison{comparison: &comparison{oldCRD: ofCRD, newCRD: inCRD}, version: of.Name, pruned: true}
	if !ofCRD.Spec.Pruned(of.Name) {
		s.pruning(false, nil)
	}
	shape := func(of *schema.Schema) *schema.Schema { return skeleton.Build(of).Schema() }
	s.structure(shape(before), shape(after), place{})
	var fields []unplaced
	for _, change := range s.found {
		if change.hit == withLoss || change.wasNested {
			fields = append(fields, unplaced{change.Field, change.wasNested})
		}
	}
	return fields
}

// orRoot returns a field for a message.
func orRoot(field string) string {
	if field == "" {
		return "unknown fields"
	}
	return field
}
