//go:build plain

package text

// New returns the plain form.
func New(Known) Format { return Library{} }
