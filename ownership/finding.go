package ownership

import "time"

// Kind says what a write does to a field of another owner.
type Kind int

const (
	// Overwrites means that an imperative write changes a field that apply owns.
	Overwrites Kind = iota
	// Reverts means that an apply changes a field that another client changed since
	// the last apply.
	Reverts
	// ChangesForeign means that an apply changes a field that another client set and
	// apply never did.
	ChangesForeign
	// TakesOver means that an apply becomes the owner of a list item that another
	// client created.
	TakesOver
)

// String returns the kind in lower case, with hyphens.
func (k Kind) String() string {
	switch k {
	case Overwrites:
		return "overwrites"
	case Reverts:
		return "reverts"
	case ChangesForeign:
		return "changes-foreign"
	default:
		return "takes-over"
	}
}

// Finding is one field of another owner that a write changes. If a value changes as
// a whole, the finding is about the topmost field.
type Finding struct {
	Kind Kind
	Path Path
	// Live and New are the values before and after the write, Applied is the value
	// applied last. Verdict.Show prints them.
	Live, New, Applied any
	// Drifted means that Live is not what apply set: another client changed it before.
	Drifted bool
	// Manager is the manager that owns the field by server-side apply, "" for
	// client-side apply.
	Manager string
	// unit is the field that holdfast transfer can move, if that is not Path but the value
	// around it: apply sets it as a whole, or clears the fields that it does not have.
	unit Path
	// clientSide means that a forced server-side apply takes the field from client-side apply.
	clientSide bool
	// LastSet is the source of the live value. Its name is empty if it is not known.
	LastSet Source
}

// Show returns the text of a value of a finding.
func (v *Verdict) Show(shown any) string {
	if v.hidden || v.redacted && !isAbsent(shown) {
		return concealed
	}
	return printer().Print(shown)
}

// owner returns the owner of the field in messages.
func (f *Finding) owner() string {
	if f.Manager == "" {
		return "`kubectl apply`"
	}
	return "server-side apply (" + name(f.Manager) + ")"
}

// source returns the source of the live value in messages, "" if it is not known.
func (f *Finding) source() string {
	if f.LastSet.Name == "" {
		return ""
	}
	at := ""
	if !f.LastSet.Time.IsZero() {
		at = " at " + f.LastSet.Time.UTC().Format(time.RFC3339)
	}
	return name(f.LastSet.Name) + at
}
