package lint

import (
	"context"

	"holdfast.dev/holdfast/internal/operator/pack"
)

// FrozenOneByOne lints one package like Frozen, without narrow: it renders each template for each
// parameter.
func FrozenOneByOne(ctx context.Context, p *pack.Package) (pack.Findings, error) {
	l := newLinter(p)
	l.exhaustive = true
	return l.frozen(ctx)
}
