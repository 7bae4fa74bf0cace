//go:build !plain

package ahead

// New returns an empty budget.
func New() *Budget { return newBudget(most) }
