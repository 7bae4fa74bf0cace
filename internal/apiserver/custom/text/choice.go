//go:build !plain

package text

// New returns the quick form. It takes sets of fields and their texts from known, which may be nil.
func New(known Known) Format { return &JSON{Known: known} }
