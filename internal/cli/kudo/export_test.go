package kudo

import (
	"context"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// FetchDependency reads a package that a task of another package names.
func FetchDependency(ctx context.Context, dependent *pack.Package, name string) error {
	_, err := (&resolver{source: &source{}}).fetch(ctx, dependent, api.TaskSpec{Package: name})
	return err
}
