//go:build plain

package kept

// New returns the plain form, which keeps nothing.
func New() *Trees { return nil }
