package kudo

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/pack"
)

// Unified returns the diff of two objects.
func Unified(oldObj, newObj *unstructured.Unstructured) (string, error) {
	return unified("a", oldObj, newObj)
}

// FetchDependency reads a package that a task of another package names.
func FetchDependency(ctx context.Context, dependent *pack.Package, name string) error {
	_, err := (&resolver{source: &source{}}).fetch(ctx, dependent, api.TaskSpec{Package: name})
	return err
}
