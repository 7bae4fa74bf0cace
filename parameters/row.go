package parameters

// Mutability is what an upgrade does to a parameter's being immutable.
type Mutability string

// The words of the decision table.
const (
	Mutable          Mutability = "mutable"
	Immutable        Mutability = "immutable"
	BecomesImmutable Mutability = "becomes immutable"
	BecomesMutable   Mutability = "becomes mutable"
	AddedImmutable   Mutability = "added immutable"
	Added            Mutability = "added"
	Removed          Mutability = "removed"
)

// Row is one parameter in the decision table.
type Row struct {
	Name       string
	Mutability Mutability
	// Old and New are the effective values before and after, nil where there is
	// none. Where the request is refused, New is what it asked for.
	Old, New *string
	// Changed says that a template sees another value than before.
	Changed bool
	// Pinned says that the value was not stored before and is from now on.
	Pinned bool
	// Refused are the messages about this parameter.
	Refused []string
}

// row tells about one parameter; refusals since the given number are its own.
func (d *decider) row(oldDefinition, newDefinition *Definition, refusalsBefore int) {
	r := Row{Mutability: mutability(oldDefinition, newDefinition)}
	var oldValue, newValue setting
	if oldDefinition != nil {
		r.Name = oldDefinition.Name
		oldValue = lookup(d.Stored, r.Name).or(oldDefinition.preset())
	}
	if newDefinition != nil {
		r.Name = newDefinition.Name
		kept, stored := lookup(d.Values, r.Name), lookup(d.Stored, r.Name)
		if len(d.Refusals) > refusalsBefore {
			kept = kept.or(lookup(d.Wanted, r.Name))
		}
		newValue = kept.or(newDefinition.preset())
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
	return !seenAlike(oldDefinition.Type, oldValue.text, newDefinition.Type, newValue.text)
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
