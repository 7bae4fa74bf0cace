//go:build !plain

package kept

// New returns trees.
func New() *Trees { return newTrees() }
