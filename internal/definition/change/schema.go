package change

import (
	"fmt"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
	"holdfast.dev/holdfast/value"
)

// schemas reports the changes of the schema of one version.
func (c *comparison) schemas(index int, old, updated *definition.CustomResourceDefinitionVersion) {
	before, oldErr := protectionOf(c.oldCRD, old)
	after, newErr := protectionOf(c.newCRD, updated)
	if oldErr != nil || newErr != nil {
		// The server refuses such a schema, which is a change of its own.
		return
	}
	s := &schemaComparison{
		comparison: c, version: updated.Name, root: fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", index),
		pruned: c.newCRD.Spec.Pruned(updated.Name), defaulted: map[string]bool{},
	}
	was := c.oldCRD.Spec.Pruned(updated.Name)
	s.keepsDefaults = was && sameDefaults(orEmpty(before.schema), orEmpty(after.schema))
	schema.Walk(after.schema, func(v *schema.Visit) bool {
		if v.Schema.Default != nil {
			s.defaulted[v.Path.String()] = true
		}
		return true
	})
	if was != s.pruned {
		s.pruning(was, nil)
	}
	s.structure(skeleton.Build(before.schema).Schema(), skeleton.Build(after.schema).Schema(), place{kept: !s.pruned})
	s.values(orEmpty(before.schema), orEmpty(after.schema), nil)
	s.markers(before, after)
}

// schemaComparison collects the changes between two schemas.
type schemaComparison struct {
	*comparison
	version string
	root    string
	pruned  bool
	// keepsDefaults says that the old version kept no unknown fields, and that no default of a field changes.
	keepsDefaults bool
	// defaulted has the paths of the new schema that have a default.
	defaulted map[string]bool
}

// report adds a change of the node at a path. keyword is the keyword that changed, empty for
// the node itself.
func (s *schemaComparison) report(path *value.Path, keyword string, change Change) {
	at := path
	if keyword != "" {
		at = path.Child(keyword)
	}
	change.Path = s.root
	if at != nil {
		change.Path += "." + value.Notation{Kubernetes: true}.Path(at)
	}
	change.Version, change.Field, change.isStored = s.version, immutability.Field(path), s.isStored(s.version)
	s.add(change)
}

// pruning reports that unknown fields were kept and are dropped now, or the other way round.
func (s *schemaComparison) pruning(was bool, path *value.Path) {
	if was {
		s.report(path, "", Change{
			Rule: pruningRule, Severity: finding.Note, Message: "unknown fields are kept, which were dropped before",
		})
		return
	}
	s.report(path, "", Change{
		Rule: pruningRule, Severity: finding.Error, Message: "unknown fields are dropped, which were kept before",
		Reason: "stored objects lose these fields when they are read", hit: withLoss,
	})
}

func orEmpty(s *schema.Schema) *schema.Schema {
	if s == nil {
		return &schema.Schema{}
	}
	return s
}
