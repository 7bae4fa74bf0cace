//go:build !plain

package sharing

// New returns objects that share their parts.
func New() *Objects { return newObjects() }
