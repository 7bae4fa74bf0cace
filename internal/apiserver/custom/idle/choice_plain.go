//go:build plain

package idle

import (
	"context"
	"time"
)

// Run closes nothing.
func Run(context.Context, func(since time.Time)) {}
