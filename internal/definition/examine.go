package definition

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Examination is everything that servers say about a definition.
type Examination struct {
	// Errors are those of Validate.
	Errors field.ErrorList
	// Warnings are those of Inspect.
	Warnings []Warning
	// NotPortable are the errors of Kubernetes about schemas that are not structural, see
	// KubernetesErrors. There are none for a write through v1beta1.
	NotPortable field.ErrorList
}

// Examine does the work of Validate, Inspect and KubernetesErrors, but decodes each schema only
// once. Call Prepare before.
func (w Write) Examine(ctx context.Context, crd *CustomResourceDefinition) Examination {
	versions := readVersions(crd)
	if errs := w.validateExpressions(crd, versions); len(errs) > 0 {
		return Examination{Errors: errs}
	}
	out := Examination{
		Errors:   w.validate(ctx, crd, versions),
		Warnings: w.inspect(crd, versions),
	}
	if w.APIVersion != V1beta1 && !areStructural(versions) {
		out.NotPortable = kubernetesErrors(ctx, crd, versions)
	}
	return out
}

// areStructural reports whether the schemas are in structural form as they are written. Then
// Kubernetes has no errors that validate does not have.
func areStructural(versions []readVersion) bool {
	for i := range versions {
		r := &versions[i]
		written, structural := typing{omitDocs: true}.of(r.schema), typing{omitDocs: true}.of(r.structural)
		if r.err != nil || !reflect.DeepEqual(written, structural) {
			return false
		}
	}
	return true
}
