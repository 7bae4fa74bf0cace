package parameters

// Mutability says whether a parameter is immutable, and how an upgrade changes that.
type Mutability string

// The values of Mutability.
const (
	Mutable          Mutability = "mutable"
	Immutable        Mutability = "immutable"
	BecomesImmutable Mutability = "becomes immutable"
	BecomesMutable   Mutability = "becomes mutable"
	AddedImmutable   Mutability = "added immutable"
	Added            Mutability = "added"
	Removed          Mutability = "removed"
)

// Row describes what happens to one parameter.
type Row struct {
	Name       string
	Mutability Mutability
	// Old and New are the effective values before and after, nil if there is none. If
	// the request is refused, New is the value that it asked for.
	Old, New *string
	// Changed means that templates see another value than before.
	Changed bool
	// Pinned means that the default is stored from now on, without a request to set it.
	Pinned bool
	// Refused has the messages of the refusals of this parameter.
	Refused []string
}

// row adds the row of one parameter. The refusals from the index refusalsBefore on are
// of this parameter.
func (d *decider) row(oldDefinition, newDefinition *Definition, refusalsBefore int) {
	r := Row{Mutability: mutability(oldDefinition, newDefinition)}
	var oldValue, newValue setting
	if oldDefinition != nil {
		r.Name = oldDefinition.Name
		oldValue = lookup(d.Stored, r.Name).or(oldDefinition.defaultSetting())
	}
	if newDefinition != nil {
		r.Name = newDefinition.Name
		kept, stored := lookup(d.Values, r.Name), lookup(d.Stored, r.Name)
		if len(d.Refusals) > refusalsBefore {
			kept = kept.or(lookup(d.Wanted, r.Name))
		}
		newValue = kept.or(newDefinition.defaultSetting())
		r.Pinned = kept.set && !stored.set && !lookup(d.Wanted, r.Name).set
	}
	r.Old, r.New = oldValue.pointer(), newValue.pointer()
	r.Changed = differs(oldDefinition, oldValue, newDefinition, newValue)
	for _, refusal := range d.Refusals[refusalsBefore:] {
		r.Refused = append(r.Refused, refusal.Message)
	}
	d.Rows = append(d.Rows, r)
}

func (v setting) pointer() *string {
	if !v.set {
		return nil
	}
	return &v.text
}

func differs(oldDefinition *Definition, oldValue setting, newDefinition *Definition, newValue setting) bool {
	if oldDefinition == nil || newDefinition == nil {
		return oldValue.set || newValue.set
	}
	return !sameSeen(oldDefinition.Type, oldValue.text, newDefinition.Type, newValue.text)
}

func mutability(oldDefinition, newDefinition *Definition) Mutability {
	switch {
	case newDefinition == nil:
		return Removed
	case oldDefinition == nil && newDefinition.Immutable:
		return AddedImmutable
	case oldDefinition == nil:
		return Added
	case oldDefinition.Immutable && newDefinition.Immutable:
		return Immutable
	case newDefinition.Immutable:
		return BecomesImmutable
	case oldDefinition.Immutable:
		return BecomesMutable
	}
	return Mutable
}
