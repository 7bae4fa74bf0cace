//go:build !plain

package idle

import (
	"context"
	"time"
)

// Run calls closeUnused from time to time until ctx ends. closeUnused closes what was last used before a time.
func Run(ctx context.Context, closeUnused func(since time.Time)) { run(ctx, closeUnused) }
