//go:build plain

package sharing

// New returns the plain form, which shares nothing.
func New() *Objects { return nil }
