package v1beta1

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyObject implements runtime.Object.
func (in *CustomResourceDefinition) DeepCopyObject() runtime.Object {
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
	if in.Items != nil {
		out.Items = make([]CustomResourceDefinition, len(in.Items))
		for i := range in.Items {
			in.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}

// DeepCopyInto makes out a copy that shares nothing with in.
func (in *CustomResourceDefinitionSpec) DeepCopyInto(out *CustomResourceDefinitionSpec) {
	*out = *in
	in.Names.DeepCopyInto(&out.Names)
	out.Validation = in.Validation.DeepCopy()
	out.Subresources = in.Subresources.DeepCopy()
	if in.Versions != nil {
		out.Versions = make([]CustomResourceDefinitionVersion, len(in.Versions))
		for i := range in.Versions {
			in.Versions[i].DeepCopyInto(&out.Versions[i])
		}
	}
	out.AdditionalPrinterColumns = slices.Clone(in.AdditionalPrinterColumns)
	out.SelectableFields = slices.Clone(in.SelectableFields)
	out.Conversion = in.Conversion.DeepCopy()
	out.Prune = copyPointer(in.Prune)
	out.PreserveUnknownFields = copyPointer(in.PreserveUnknownFields)
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

func copyPointer[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}
