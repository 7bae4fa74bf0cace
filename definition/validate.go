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

// Validate finds everything that the definition is refused for, each with its
// path as the API version of the write spells it, sorted. crd is as Prepare
// leaves it. Rules about a schema that is stored already and stays as it is are
// not applied again.
func (w Write) Validate(ctx context.Context, crd *CustomResourceDefinition) field.ErrorList {
	errs := field.ErrorList(slices.Clone(crd.Spec.ConversionErrors))
	errs = append(errs, w.validatePruning(crd)...)
	versions := readVersions(crd)
	for i := range versions {
		errs = append(errs, w.validateVersion(crd, &versions[i])...)
	}
	errs = append(errs, validateUnpruned(crd, versions)...)
	errs = append(errs, w.validateUpstream(ctx, crd, versions)...)
	for i := range versions {
		if w.changes(crd, i) {
			errs = append(errs, validateDefaults(&versions[i], errs)...)
		}
	}
	if w.APIVersion == V1beta1 {
		errs = spellV1beta1(crd, errs)
	}
	sortErrors(errs)
	return errs
}

// ValidateStatus finds everything that a write of the status is refused for.
func (w Write) ValidateStatus(ctx context.Context, crd *CustomResourceDefinition) field.ErrorList {
	errs := validation.ValidateUpdateCustomResourceDefinitionStatus(ctx, upstream(crd, nil), upstream(w.Old, nil))
	sortErrors(errs)
	return errs
}

// validateUpstream asks upstream's rules, which get stand-ins for the schemas.
func (w Write) validateUpstream(ctx context.Context, crd *CustomResourceDefinition, versions []readVersion) field.ErrorList {
	asked := upstream(crd, versions)
	var found field.ErrorList
	if w.Old == nil {
		found = validation.ValidateCustomResourceDefinition(ctx, asked)
	} else {
		found = validation.ValidateCustomResourceDefinitionUpdate(ctx, asked, upstream(w.Old, readVersions(w.Old)))
	}
	var errs field.ErrorList
	for _, err := range found {
		if w.concerns(err) {
			errs = append(errs, spellV1(crd, versions, err))
		}
	}
	return errs
}

// concerns says whether an error of upstream's is one in this form. Upstream
// judges its internal form, in which what is the same in all versions stands at
// the top; and only v1 demands that an API of the community is approved.
func (w Write) concerns(err *field.Error) bool {
	switch err.Field {
	case "spec.versions":
		return !isAboutIdenticalVersions(err)
	case "metadata.annotations[" + apiextensionsv1.KubeAPIApprovedAnnotation + "]":
		return w.APIVersion != V1beta1
	}
	return true
}

// validateUnpruned reports what needs pruning and does not have it.
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
			errs = append(errs, field.Invalid(path.Child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema"))
			break
		}
		errs = append(errs, field.Invalid(path.Child("versions").Index(i).Child("prune"), false, "must be true in order to use defaults in the schema"))
	}
	if c := spec.Conversion; c != nil && c.Strategy != apiextensionsv1.NoneConverter {
		errs = append(errs, field.Invalid(path.Child("conversion", "strategy"), c.Strategy, "must be None if spec.preserveUnknownFields is true"))
	}
	return errs
}

// changes says whether the write changes what the schema of a version means.
func (w Write) changes(crd *CustomResourceDefinition, version int) bool {
	if w.Old == nil {
		return true
	}
	v := &crd.Spec.Versions[version]
	old := w.Old.Spec.Version(v.Name)
	return old == nil || !sameSchema(old.Schema, v.Schema) || w.Old.Spec.Pruned(v.Name) != crd.Spec.Pruned(v.Name)
}

func sortErrors(errs field.ErrorList) {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.ErrorBody(), b.ErrorBody()))
	})
}

// upstream is the definition in upstream's internal form, with stand-ins for
// the schemas; without versions it has none.
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
