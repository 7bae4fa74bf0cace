package validity

import (
	"context"

	"holdfast.dev/holdfast/internal/definition"
)

// Examine reads all objects of a definition, and returns how many there are and how many are invalid.
func (c *Controller) Examine(ctx context.Context, crd *definition.CustomResourceDefinition) (objects, invalid int, err error) {
	found, err := c.examine(ctx, crd, 0)
	return found.objects, found.invalid, err
}
