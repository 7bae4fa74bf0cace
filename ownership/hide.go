package ownership

// noteHidden is the note about a last-applied configuration for a client that may not read
// the object.
const noteHidden = "the last-applied configuration cannot be read in full"

// ShowsValues reports whether the texts of the verdict show values of the stored object.
func (v *Verdict) ShowsValues() bool {
	return len(v.Findings) > 0 || v.Note != "" && v.quotes
}

// Hide replaces all values in the texts of the verdict, for a client that may write the
// object but may not read it. The texts still name the fields and the owners.
func (v *Verdict) Hide() {
	v.hidden = true
	if v.Note != "" && v.quotes {
		v.Note, v.quotes = noteHidden, false
	}
}
