package definition

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns every error of the definition, sorted by path. A path names the
// field as it is in the API version of the write. Call Prepare before. A schema
// that the write does not change is not validated again, so that a definition
// stored under earlier rules can still be updated. If a regular expression is too
// large, only such errors are returned: the other rules would compile it.
func (w Write) Validate(ctx context.Context, crd *CustomResourceDefinition) field.ErrorList {
	versions := readVersions(crd)
	if errs := w.validateExpressions(crd, versions); len(errs) > 0 {
		return errs
	}
	return w.validate(ctx, crd, versions)
}

func (w Write) validate(ctx context.Context, crd *CustomResourceDefinition, versions []readVersion) field.ErrorList {
	errs := field.ErrorList(slices.Clone(crd.Spec.ConversionErrors))
	errs = append(errs, w.validatePruning(crd)...)
	errs = append(errs, w.validateAnnotation(crd)...)
	errs = append(errs, w.validateReferences(crd)...)
	errs = append(errs, ValidateGatePolicy(crd)...)
	for i := range versions {
		errs = append(errs, w.validateVersion(crd, &versions[i])...)
	}
	errs = append(errs, w.validateStorage(crd)...)
	errs = append(errs, validateUnpruned(crd, versions)...)
	errs = append(errs, w.validateUpstream(ctx, crd, versions)...)
	for i := range versions {
		if w.changesSchema(crd, i) {
			errs = append(errs, validateDefaults(&versions[i], errs)...)
		}
	}
	if w.APIVersion == V1beta1 {
		errs = inV1beta1(crd, errs)
	}
	sortErrors(errs)
	return errs
}

// ValidateStatus returns every error of a write of the status subresource. Such a write may change annotations too, and each annotation with
// another value is validated as in an update of the definition.
func (w Write) ValidateStatus(ctx context.Context, crd *CustomResourceDefinition) field.ErrorList {
	errs := validation.ValidateUpdateCustomResourceDefinitionStatus(ctx, upstream(crd, nil), upstream(w.Old, nil))
	errs = append(errs, w.validateReferences(crd)...)
	if w.Old.Annotations[GateAnnotation] != crd.Annotations[GateAnnotation] {
		errs = append(errs, ValidateGatePolicy(crd)...)
	}
	if w.changesAnnotation(crd) {
		errs = append(errs, w.validateAnnotation(crd)...)
		for i := range crd.Spec.Versions {
			errs = append(errs, crd.validateMarkers(&crd.Spec.Versions[i], schemaPath(i))...)
		}
	}
	sortErrors(errs)
	return errs
}

// validateUpstream applies upstream's rules, with the schemas in structural form.
func (w Write) validateUpstream(ctx context.Context, crd *CustomResourceDefinition, versions []readVersion) field.ErrorList {
	internal := upstream(crd, versions)
	var found field.ErrorList
	if w.Old == nil {
		found = validation.ValidateCustomResourceDefinition(ctx, internal)
	} else {
		found = validation.ValidateCustomResourceDefinitionUpdate(ctx, internal, upstream(w.Old, readVersions(w.Old)))
	}
	var errs field.ErrorList
	for _, err := range found {
		if w.applies(err) {
			errs = append(errs, inV1(crd, versions, err))
		}
	}
	return errs
}

// applies reports whether an error of upstream's rules holds for this write.
// Two rules do not: in upstream's internal form a field with the same value in
// all versions must be at the top of the spec, and v1beta1 does not require the
// approval annotation of protected groups.
func (w Write) applies(err *field.Error) bool {
	switch err.Field {
	case "spec.versions":
		return !isAboutIdenticalVersions(err)
	case "metadata.annotations[" + apiextensionsv1.KubeAPIApprovedAnnotation + "]":
		return w.APIVersion != V1beta1
	}
	return true
}

// validateUnpruned reports defaults in a version that is not pruned, and a conversion
// webhook if any version is not pruned. Both need pruning.
func validateUnpruned(crd *CustomResourceDefinition, versions []readVersion) field.ErrorList {
	spec, path := &crd.Spec, field.NewPath("spec")
	if spec.PrunedEverywhere() {
		return nil
	}
	var errs field.ErrorList
	nowhere := !spec.PrunedAnywhere()
	for i := range versions {
		if spec.Pruned(versions[i].name) || !hasDefaults(versions[i].schema) {
			continue
		}
		if nowhere {
			errs = append(errs, field.Invalid(path.Child("preserveUnknownFields"), true,
				"must be false in order to use defaults in the schema"))
			break
		}
		errs = append(errs, field.Invalid(path.Child("versions").Index(i).Child("prune"), false,
			"must be true in order to use defaults in the schema"))
	}
	if c := spec.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter {
		errs = append(errs, field.Invalid(path.Child("conversion", "strategy"), c.Strategy,
			"must be None if spec.preserveUnknownFields is true"))
	}
	return errs
}

// changesSchema reports whether the write changes the schema of a version or the annotation with
// markers, or turns pruning on or off in the version.
func (w Write) changesSchema(crd *CustomResourceDefinition, version int) bool {
	if w.Old == nil {
		return true
	}
	v := &crd.Spec.Versions[version]
	old := w.Old.Spec.Version(v.Name)
	return old == nil || !SameSchema(old.Schema, v.Schema) || w.changesAnnotation(crd) || w.Old.Spec.Pruned(v.Name) != crd.Spec.Pruned(v.Name)
}

func sortErrors(errs field.ErrorList) {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.ErrorBody(), b.ErrorBody()))
	})
}

// upstream returns the definition in upstream's internal form, with the schemas
// in structural form. The result has the given versions only; ValidateStatus
// needs none.
func upstream(crd *CustomResourceDefinition, versions []readVersion) *apiextensions.CustomResourceDefinition {
	out := &apiextensions.CustomResourceDefinition{
		ObjectMeta: crd.ObjectMeta,
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group:                 crd.Spec.Group,
			Names:                 apiextensions.CustomResourceDefinitionNames(crd.Spec.Names),
			Scope:                 apiextensions.ResourceScope(crd.Spec.Scope),
			Conversion:            upstreamConversion(crd.Spec.Conversion),
			PreserveUnknownFields: new(false),
		},
		Status: upstreamStatus(&crd.Status),
	}
	for i := range versions {
		out.Spec.Versions = append(out.Spec.Versions, versions[i].upstream(&crd.Spec.Versions[i]))
	}
	if len(versions) > 0 {
		out.Spec.Version = versions[0].name
	}
	return out
}
