package kind

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/nesting"
)

// Convertor converts objects between the versions of a kind. Each converted object conforms, like one that is read from storage.
type Convertor struct {
	// safe copies its input, unsafe may change it.
	safe, unsafe runtime.ObjectConvertor
	kind         *Kind
	callsWebhook bool
}

var _ runtime.ObjectConvertor = Convertor{}

func newConvertor(k *Kind) (Convertor, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: k.CRD.ObjectMeta,
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: k.CRD.Spec.Group, Names: k.CRD.Spec.Names, Scope: k.CRD.Spec.Scope, Conversion: k.CRD.Spec.Conversion,
		},
	}
	if crd.Spec.Conversion == nil {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	for _, v := range k.CRD.Spec.Versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: v.Name, Served: v.Served, Storage: v.Storage, Subresources: v.Subresources, SelectableFields: v.SelectableFields,
		})
	}
	safe, unsafe, err := k.config.Converters.NewConverter(crd)
	callsWebhook := crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	return Convertor{safe: safe, unsafe: unsafe, kind: k, callsWebhook: callsWebhook}, err
}

// Convert implements runtime.ObjectConvertor.
func (c Convertor) Convert(in, out, context any) error {
	from, isFrom := in.(runtime.Object)
	to, isTo := out.(runtime.Object)
	if !isFrom || !isTo {
		return c.safe.Convert(in, out, context)
	}
	if err := c.safe.Convert(object.AsUnstructured(from), object.AsUnstructured(to), context); err != nil {
		return err
	}
	c.Conform(to)
	return nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c Convertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	return c.convert(c.safe, in, target)
}

// convert converts an object with one of the two convertors. If a webhook answers with an object
// that is nested too deep, convert refuses it. An object that had more levels before the conversion, because
// an earlier release stored it, may keep them. The result has the type of the input.
func (c Convertor) convert(with runtime.ObjectConvertor, in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	limit := nesting.Limit
	if c.callsWebhook {
		// The convertor may change its input, so count before.
		limit = max(limit, levelsOf(in))
	}
	given := object.AsUnstructured(in)
	out, err := with.ConvertToVersion(given, target)
	if err != nil {
		return nil, err
	}
	if given != in {
		out = object.FromUnstructured(out)
	}
	if c.callsWebhook && levelsOf(out) > limit {
		return nil, fmt.Errorf("conversion webhook for %v failed: %w", c.kind.GroupKind, nesting.Error{What: "the converted object"})
	}
	c.Conform(out)
	return out, nil
}

// levelsOf returns the number of levels of an object, or of the deepest object in a list.
func levelsOf(obj runtime.Object) int {
	switch obj := object.AsUnstructured(obj).(type) {
	case *unstructured.Unstructured:
		return nesting.ObjectLevels(obj.Object)
	case *unstructured.UnstructuredList:
		most := 0
		for i := range obj.Items {
			most = max(most, nesting.ObjectLevels(obj.Items[i].Object))
		}
		return most
	}
	return 0
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (c Convertor) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return c.safe.ConvertFieldLabel(gvk, label, value)
}

// Conform lets an object, or each object of a list, conform to its version.
func (c Convertor) Conform(obj runtime.Object) {
	switch obj := object.AsUnstructured(obj).(type) {
	case *unstructured.Unstructured:
		gvk := obj.GroupVersionKind()
		if v := c.kind.Versions[gvk.Version]; v != nil && gvk.GroupKind() == c.kind.GroupKind {
			v.Conform(obj.Object)
		}
	case *unstructured.UnstructuredList:
		for i := range obj.Items {
			c.Conform(&obj.Items[i])
		}
	}
}

// Default implements runtime.ObjectDefaulter.
func (c Convertor) Default(obj runtime.Object) { c.Conform(obj) }

// Reader is a convertor that returns an object itself, and not a copy, if the object has the wanted version already. The caller only
// reads the result, or owns the object.
type Reader struct{ Convertor }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c Reader) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if hasVersion(in, target) {
		return in, nil
	}
	return c.Convertor.ConvertToVersion(in, target)
}

func hasVersion(obj runtime.Object, target runtime.GroupVersioner) bool {
	gvk := obj.GetObjectKind().GroupVersionKind()
	want, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{gvk})
	return ok && want == gvk
}

// Unsafe is a convertor that may change its input.
type Unsafe struct{ Convertor }

// ConvertToVersion implements runtime.ObjectConvertor. An object that has the wanted version already is returned unchanged.
func (c Unsafe) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if hasVersion(in, target) {
		return in, nil
	}
	return c.convert(c.unsafe, in, target)
}
