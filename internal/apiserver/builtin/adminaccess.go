package builtin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// deviceClaimREST creates a claim, or a template for claims, with admin access to devices only in a namespace with
// a label that allows it. Admin access reaches devices that other pods use.
type deviceClaimREST struct {
	*kindREST
	namespaces rest.Getter
}

var (
	_ rest.Creater = &deviceClaimREST{}
	_ rest.Updater = &deviceClaimREST{}
)

// Create implements rest.Creater.
func (r *deviceClaimREST) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	return r.kindREST.Create(ctx, obj, r.checkAccess(validate), options)
}

// Update implements rest.Updater. An apply creates an object with it. The spec of a stored object cannot change.
func (r *deviceClaimREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, validateCreate rest.ValidateObjectFunc,
	validateUpdate rest.ValidateObjectUpdateFunc, forceCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.kindREST.Update(ctx, name, info, r.checkAccess(validateCreate), validateUpdate, forceCreate, options)
}

// checkAccess rejects an object that the namespace does not allow, and calls validate for the others.
func (r *deviceClaimREST) checkAccess(validate rest.ValidateObjectFunc) rest.ValidateObjectFunc {
	return func(ctx context.Context, obj runtime.Object) error {
		for i, request := range deviceRequests(obj) {
			if request.Exactly == nil || request.Exactly.AdminAccess == nil || !*request.Exactly.AdminAccess {
				continue
			}
			namespace, err := r.namespaces.Get(ctx, objectMeta(obj).GetNamespace(), &metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("read the namespace to check admin access: %w", err)
			}
			const label = resourcev1.DRAAdminNamespaceLabelKey
			if namespace.(*corev1.Namespace).Labels[label] == "true" {
				break
			}
			// As in Kubernetes, the path is the same for claims and templates.
			path := field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess")
			return apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind(r.kind.Name()).GroupKind(), objectMeta(obj).GetName(),
				field.ErrorList{field.Forbidden(path,
					fmt.Sprintf("admin access to devices requires the `%s: true` label on the containing namespace", label))})
		}
		if validate == nil {
			return nil
		}
		return validate(ctx, obj)
	}
}

// deviceRequests returns the requests of a claim or of a template.
func deviceRequests(obj runtime.Object) []resourcev1.DeviceRequest {
	switch obj := obj.(type) {
	case *resourcev1.ResourceClaim:
		return obj.Spec.Devices.Requests
	case *resourcev1.ResourceClaimTemplate:
		return obj.Spec.Spec.Devices.Requests
	}
	return nil
}
