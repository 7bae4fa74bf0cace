package definition

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DeepCopyObject implements runtime.Object.
func (in *CustomResourceDefinition) DeepCopyObject() runtime.Object {
	if in == nil {
		return nil
	}
	return in.DeepCopy()
}

// DeepCopy returns a copy that shares nothing with in.
func (in *CustomResourceDefinition) DeepCopy() *CustomResourceDefinition {
	if in == nil {
		return nil
	}
	out := new(CustomResourceDefinition)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto makes out a copy that shares nothing with in.
func (in *CustomResourceDefinition) DeepCopyInto(out *CustomResourceDefinition) {
	out.TypeMeta = in.TypeMeta
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject implements runtime.Object.
func (in *CustomResourceDefinitionList) DeepCopyObject() runtime.Object {
	if in == nil {
		return nil
	}
	out := &CustomResourceDefinitionList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = copyEach(in.Items, (*CustomResourceDefinition).DeepCopyInto)
	return out
}

// DeepCopyInto makes out a copy that shares nothing with in.
func (in *CustomResourceDefinitionSpec) DeepCopyInto(out *CustomResourceDefinitionSpec) {
	*out = *in
	in.Names.DeepCopyInto(&out.Names)
	out.Versions = copyEach(in.Versions, (*CustomResourceDefinitionVersion).DeepCopyInto)
	out.Conversion = in.Conversion.DeepCopy()
	out.Prune = copyPointer(in.Prune)
	out.PreserveUnknownFields = copyPointer(in.PreserveUnknownFields)
	out.Defects = copyEach(in.Defects, func(from, to **field.Error) { *to = copyPointer(*from) })
}

// DeepCopyInto makes out a copy that shares nothing with in.
func (in *CustomResourceDefinitionVersion) DeepCopyInto(out *CustomResourceDefinitionVersion) {
	*out = *in
	out.DeprecationWarning = copyPointer(in.DeprecationWarning)
	out.Schema = in.Schema.DeepCopy()
	out.Prune = copyPointer(in.Prune)
	out.Subresources = in.Subresources.DeepCopy()
	out.AdditionalPrinterColumns = slices.Clone(in.AdditionalPrinterColumns)
	out.SelectableFields = slices.Clone(in.SelectableFields)
}

// DeepCopy returns a copy that shares nothing with in.
func (in *CustomResourceValidation) DeepCopy() *CustomResourceValidation {
	if in == nil {
		return nil
	}
	return &CustomResourceValidation{OpenAPIV3Schema: slices.Clone(in.OpenAPIV3Schema)}
}

// DeepCopyInto makes out a copy that shares nothing with in.
func (in *CustomResourceDefinitionStatus) DeepCopyInto(out *CustomResourceDefinitionStatus) {
	*out = *in
	out.Conditions = copyEach(in.Conditions, (*apiextensionsv1.CustomResourceDefinitionCondition).DeepCopyInto)
	in.AcceptedNames.DeepCopyInto(&out.AcceptedNames)
	out.StoredVersions = slices.Clone(in.StoredVersions)
	out.Skeletons = copyEach(in.Skeletons, copySkeleton)
}

func copySkeleton(from, to *VersionSkeleton) {
	*to = VersionSkeleton{Version: from.Version, Schema: slices.Clone(from.Schema)}
}

// copyEach copies a slice item by item; nil stays nil and empty stays empty.
func copyEach[T any](in []T, one func(from, to *T)) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i := range in {
		one(&in[i], &out[i])
	}
	return out
}

func copyPointer[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}
