package change

import (
	"slices"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/finding"
)

// Effect is what a change does to stored objects and to clients.
type Effect uint8

const (
	// Neutral means that nothing is lost, and nothing is refused that was accepted.
	Neutral Effect = iota
	// Break means that the server refuses objects that it accepted, or that clients do not find what they use.
	Break
	// Loss means that stored objects lose data, or that a rule protects less than before.
	Loss
)

// Effect returns the effect of a change that hits the given number of stored objects.
func (c Change) Effect(hits int) Effect {
	switch c.Rule {
	case refusedRule, tightenedRule, escapeRule:
		// The server refuses the first one anyway. The others do not make objects invalid.
		return Neutral
	case loosenedRule, notComparableRule:
		if c.IsWeakerRule() {
			return Loss
		}
	case fieldAddedRule:
		if c.Severity == finding.Warning {
			return Break
		}
	case listTypeRule, storageRule:
		if c.Severity == finding.Error && hits > 0 {
			return Loss
		}
	case versionRule:
		if c.hit == everyObject {
			return Loss
		}
	case fieldRemovedRule, pruningRule:
		// A field that goes from a version in which objects are stored, and that no object has, is deliberately neutral: nothing is lost.
		switch {
		case c.hit == withLoss && hits > 0:
			return Loss
		case c.hit == withLoss && c.Rule == fieldRemovedRule && !c.isStored:
			return Break
		}
		// Clients may still send the field, which the server then drops with a warning.
		return Neutral
	}
	if c.Rule != storageRule && (c.Severity == finding.Error || c.hit == withError && hits > 0) {
		return Break
	}
	return Neutral
}

// IsWeakerRule reports whether a change makes a rule weaker, or may do so.
func (c Change) IsWeakerRule() bool {
	return c.Rule == loosenedRule || c.Rule == notComparableRule && c.hit != withError
}

// NeedsObjects reports whether stored objects decide about the effect of a change, or are counted for it.
func (c Change) NeedsObjects() bool {
	// A default and the removal of empty values change the object that the other rules see.
	return c.hit != noObject && c.Effect(1) != Neutral || c.Rule == defaultRule || c.Rule == normalizeRule
}

// MayRefuse reports whether a changed definition may refuse stored objects that it accepted before, if clients write them again as new
// objects. It reads no object.
func MayRefuse(oldCRD, newCRD *definition.CustomResourceDefinition) bool {
	// Another version judges the objects, see package verdict.
	if oldCRD.Spec.StorageVersion() != newCRD.Spec.StorageVersion() || oldCRD.Spec.ConvertsNothing() != newCRD.Spec.ConvertsNothing() {
		return true
	}
	for _, version := range oldCRD.Spec.Versions {
		if newCRD.Spec.Version(version.Name) == nil {
			return true // objects that are stored in it cannot be read
		}
	}
	return slices.ContainsFunc(Accepted(oldCRD, newCRD), func(c Change) bool {
		// An object may still have a value of an earlier definition in a field that is new.
		return c.NeedsObjects() || c.Rule == fieldAddedRule
	})
}
