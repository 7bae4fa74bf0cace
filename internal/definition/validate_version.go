package definition

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/immutability"
	"holdfast.dev/holdfast/schema"
	"holdfast.dev/holdfast/skeleton"
)

// readVersion is a version with its schema decoded.
type readVersion struct {
	index      int
	name       string
	schema     *schema.Schema // nil if the version has none, and if err is set
	err        error
	structural *schema.Schema // the schema in structural form, set by readVersions
	shape      *schema.Schema // the skeleton with the types of all valid values, set by readVersions
	omitRules  bool           // upstream leaves out the CEL rules
}

// readVersions decodes the schemas of all versions, and sets their structural form. If
// a schema is missing or cannot be decoded, its structural form accepts any object.
func readVersions(crd *CustomResourceDefinition) []readVersion {
	out := decodeVersions(crd)
	for i := range out {
		out[i].shape = skeleton.Build(out[i].schema).Binding()
		out[i].structural = structuralBuilder{}.build(out[i].schema, out[i].shape)
	}
	return out
}

// decodeVersions decodes the schemas of all versions.
func decodeVersions(crd *CustomResourceDefinition) []readVersion {
	out := make([]readVersion, len(crd.Spec.Versions))
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		r := &out[i]
		r.index, r.name = i, v.Name
		r.schema, r.err = crd.MarkedSchema(v)
	}
	return out
}

// validateVersion applies the rules that are not upstream's: those for the schema
// as the client wrote it, and whether the version needs a schema.
func (w Write) validateVersion(crd *CustomResourceDefinition, r *readVersion) field.ErrorList {
	v, path := &crd.Spec.Versions[r.index], schemaPath(r.index)
	if r.err != nil {
		return decodeErrors(path, r.err)
	}
	if r.schema == nil {
		errs := w.validateMissing(crd, v, path)
		if len(v.SelectableFields) > 0 {
			at := field.NewPath("spec", "versions").Index(r.index).Child("selectableFields")
			errs = append(errs, field.Invalid(at, "", "may only be set when `version.schema.openAPIV3Schema` is included"))
		}
		return errs
	}
	var errs field.ErrorList
	if w.changesSchema(crd, r.index) {
		errs = append(errs, forbidden(path, skeleton.Rules{NotPruned: !crd.Spec.Pruned(v.Name)}.Check(r.schema))...)
		errs = append(errs, w.validateMarkers(crd, r, path)...)
		errs = append(errs, forbidden(path, validateRulePlaces(r.schema, r.shape))...)
	}
	if w.APIVersion == V1beta1 {
		errs = append(errs, forbidden(path, immutability.ValidateV1beta1(w.oldSchema(v.Name), r.schema))...)
	}
	return errs
}

// validateMarkers validates the markers of a version. Without an annotation, the decoded schema is that of the version itself.
func (w Write) validateMarkers(crd *CustomResourceDefinition, r *readVersion, path *field.Path) field.ErrorList {
	v := &crd.Spec.Versions[r.index]
	if crd.Annotations[immutability.Annotation] == "" {
		return crd.validateMarkersOf(v, r.schema, path)
	}
	return crd.validateMarkers(v, path)
}

// validateMissing reports a version without a schema if v1 requires one, and if
// pruning would drop all fields.
func (w Write) validateMissing(
	crd *CustomResourceDefinition, v *CustomResourceDefinitionVersion, path *field.Path,
) field.ErrorList {
	required := w.APIVersion != V1beta1
	if w.Old != nil {
		for i := range w.Old.Spec.Versions {
			// If a stored version has no schema, v1 does not require one.
			required = required && w.Old.Spec.Versions[i].HasSchema()
		}
	}
	switch {
	case required:
		return field.ErrorList{field.Required(path, "")}
	case v.Served && crd.Spec.Pruned(v.Name):
		return field.ErrorList{field.Required(path, "because otherwise all fields are pruned")}
	}
	return nil
}

// oldSchema returns the stored schema of a version, or nil.
func (w Write) oldSchema(version string) *schema.Schema {
	if w.Old == nil {
		return nil
	}
	v := w.Old.Spec.Version(version)
	if v == nil {
		return nil
	}
	s, err := w.Old.MarkedSchema(v)
	if err != nil {
		return nil
	}
	return s
}

// decodeErrors returns the errors for a schema that cannot be decoded.
func decodeErrors(path *field.Path, err error) field.ErrorList {
	var found schema.Errors
	if !errors.As(err, &found) {
		return field.ErrorList{field.TypeInvalid(path, field.OmitValueType{}, err.Error())}
	}
	var errs field.ErrorList
	for _, e := range found {
		errs = append(errs, field.TypeInvalid(below(path, e.Path), field.OmitValueType{}, e.Detail))
	}
	return errs
}

func forbidden(path *field.Path, found schema.Errors) field.ErrorList {
	var errs field.ErrorList
	for _, e := range found {
		errs = append(errs, field.Forbidden(below(path, e.Path), e.Detail))
	}
	return errs
}
