package definition

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/skeleton"
)

// KubernetesErrors returns the errors with which Kubernetes refuses to create the
// definition in apiextensions.k8s.io/v1. Some of them are no errors for this server,
// because only Kubernetes requires structural schemas. KubernetesErrors does not compile
// CEL rules, because Validate does.
func KubernetesErrors(ctx context.Context, crd *CustomResourceDefinition) field.ErrorList {
	return kubernetesErrors(ctx, crd, decodeVersions(crd))
}

// kubernetesErrors is KubernetesErrors with decoded schemas, in which it sets the structural form.
func kubernetesErrors(ctx context.Context, crd *CustomResourceDefinition, versions []readVersion) field.ErrorList {
	for i := range versions {
		r := &versions[i]
		r.structural, r.omitRules = r.schema, true
		if r.err != nil {
			// Validate reports a schema that cannot be decoded.
			r.structural = structuralForm(nil, skeleton.Build(nil))
		}
	}
	var errs field.ErrorList
	for _, err := range validation.ValidateCustomResourceDefinition(ctx, upstream(crd, versions)) {
		if !isAboutIdenticalVersions(err) {
			errs = append(errs, inV1(crd, versions, err))
		}
	}
	sortErrors(errs)
	return errs
}
