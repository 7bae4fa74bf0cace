package guard

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readFunc reads an object from the API server.
type readFunc func(ctx context.Context, in schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error)

// at reads the object of a review. If it has another resourceVersion than the review, the write
// would fail in the store, and the answer is that of our server.
func (r readFunc) at(
	ctx context.Context, in schema.GroupVersionResource, request *admissionv1.AdmissionRequest, version string,
) (*unstructured.Unstructured, error) {
	found, err := r(ctx, in, request.Namespace, request.Name)
	switch {
	case apierrors.IsForbidden(err):
		return nil, mayNot("get", in.GroupResource(), err)
	case err != nil:
		return nil, err
	}
	if found.GetResourceVersion() != version {
		return nil, apierrors.NewConflict(in.GroupResource(), request.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return found, nil
}

// mayNot returns the answer to a review if the guard does not have a right that it needs. Forbidden would look as if the user did not
// have the right.
func mayNot(verb string, resource schema.GroupResource, err error) error {
	return apierrors.NewInternalError(fmt.Errorf(
		"the guard may not read %s: create a ClusterRole with the right to %s it and the label %s: %w", resource, verb, ReaderLabel, err))
}

// scaledObject returns the object that the API server makes of a write of its scale. path is that of the replicas,
// empty if the object has none.
func scaledObject(parent, scale *unstructured.Unstructured, path []string) (*unstructured.Unstructured, error) {
	replicas, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("review: request.object: %v", err))
	}
	out := parent.DeepCopy()
	if len(path) > 0 {
		if err := unstructured.SetNestedField(out.Object, replicas, path...); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return out, nil
}
