package guard

import (
	"context"
)

// Tokens are the tokens of a replica.
type Tokens struct{ *tokens }

// NewTokens returns tokens that read the one of the webhook configuration with a function.
func NewTokens(read func(context.Context) (string, error)) Tokens { return Tokens{newTokens(read)} }

// Keep reads the token until ctx ends.
func (t Tokens) Keep(ctx context.Context) { t.keep(ctx) }

// Issue returns the token of a leader.
func (t Tokens) Issue() string { return t.issue() }

// Accepts reports whether a request with a token comes from an API server.
func (t Tokens) Accepts(ctx context.Context, token string) bool { return t.accepts(ctx, token) }
