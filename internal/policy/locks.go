package policy

import (
	"slices"

	"holdfast.dev/holdfast/immutability"
)

// Locks returns the places of an object that the rules of the source protect. It is nil if the rules are not for the version of the
// object. The condition of a rule may not hold for the object.
func (s Source) Locks(of Object) []immutability.Lock {
	switch rules := s.Rules.(type) {
	case DefinedRules:
		if compiled := rules.compiled[of.Version]; compiled != nil {
			return rules.own(compiled.Policy.Locks(of.Content))
		}
	case publishedRules:
		if of.Version == rules.version {
			return rules.policy.Locks(of.Content)
		}
	}
	return nil
}

// own returns the locks without those of markers in the schema, which are rules of the definition.
func (r DefinedRules) own(locks []immutability.Lock) []immutability.Lock {
	marks, _ := r.CRD.Marks()
	return slices.DeleteFunc(locks, func(lock immutability.Lock) bool {
		return lock.Mark == nil && !slices.ContainsFunc(marks, func(m immutability.Mark) bool {
			return m.Marker == lock.Marker && m.Path.String() == immutability.Field(lock.SchemaPath)
		})
	})
}
