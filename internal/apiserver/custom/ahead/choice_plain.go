//go:build plain

package ahead

// New returns a budget that takes nothing.
func New() *Budget { return newBudget(0) }
