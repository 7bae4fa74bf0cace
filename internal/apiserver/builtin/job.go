package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// jobREST warns about the deletion of a Job that keeps its pods because the client did not say
// what to do with them.
type jobREST struct{ *kindREST }

var (
	_ rest.GracefulDeleter   = &jobREST{}
	_ rest.CollectionDeleter = &jobREST{}
)

// Delete implements rest.GracefulDeleter.
func (r *jobREST) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	warnAboutPods(ctx, options)
	return r.kindREST.Delete(ctx, name, validate, options)
}

// DeleteCollection implements rest.CollectionDeleter.
func (r *jobREST) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *internalversion.ListOptions,
) (runtime.Object, error) {
	warnAboutPods(ctx, options)
	return r.kindREST.DeleteCollection(ctx, validate, options, list)
}

func warnAboutPods(ctx context.Context, options *metav1.DeleteOptions) {
	//nolint:staticcheck // old clients set orphanDependents
	if options == nil || options.PropagationPolicy != nil || options.OrphanDependents != nil {
		return
	}
	warning.AddWarning(ctx, "", "child pods are preserved by default when jobs are deleted; "+
		"set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning")
}
