package custom

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/nesting"
)

// convertor converts objects between the versions of a resource. It prunes and
// completes each converted object, like one that is read from storage.
type convertor struct {
	// safe copies its input, unsafe may change it.
	safe, unsafe runtime.ObjectConvertor
	resource     *resource
	callsWebhook bool
}

func newConvertor(r *resource) (convertor, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: r.crd.ObjectMeta,
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: r.crd.Spec.Group, Names: r.crd.Spec.Names, Scope: r.crd.Spec.Scope, Conversion: r.crd.Spec.Conversion,
		},
	}
	if crd.Spec.Conversion == nil {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	for _, v := range r.crd.Spec.Versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: v.Name, Served: v.Served, Storage: v.Storage, Subresources: v.Subresources, SelectableFields: v.SelectableFields,
		})
	}
	safe, unsafe, err := r.server.converters.NewConverter(crd)
	callsWebhook := crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
	return convertor{safe: safe, unsafe: unsafe, resource: r, callsWebhook: callsWebhook}, err
}

// Convert implements runtime.ObjectConvertor.
func (c convertor) Convert(in, out, context any) error {
	from, isFrom := in.(runtime.Object)
	to, isTo := out.(runtime.Object)
	if !isFrom || !isTo {
		return c.safe.Convert(in, out, context)
	}
	if err := c.safe.Convert(plain(from), plain(to), context); err != nil {
		return err
	}
	c.complete(to)
	return nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c convertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	return c.convert(c.safe, in, target)
}

// convert converts an object with one of the two convertors. It refuses the answer of a
// webhook with too many levels. An object that had more levels before the conversion, because
// an earlier release stored it, may keep them. The result has the type of the input.
func (c convertor) convert(with runtime.ObjectConvertor, in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	limit := nesting.Limit
	if c.callsWebhook {
		// The convertor may change its input, so count before.
		limit = max(limit, levelsOf(in))
	}
	given := plain(in)
	out, err := with.ConvertToVersion(given, target)
	if err != nil {
		return nil, err
	}
	if given != in {
		out = own(out)
	}
	if c.callsWebhook && levelsOf(out) > limit {
		return nil, fmt.Errorf("conversion webhook for %v failed: %w", c.resource.kind, nesting.Error{What: "the converted object"})
	}
	c.complete(out)
	return out, nil
}

// levelsOf returns the number of levels of an object, or of the deepest object in a list.
func levelsOf(obj runtime.Object) int {
	switch obj := plain(obj).(type) {
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
func (c convertor) ConvertFieldLabel(gvk runtimeKind, label, value string) (string, string, error) {
	return c.safe.ConvertFieldLabel(gvk, label, value)
}

func (c convertor) complete(obj runtime.Object) {
	switch obj := plain(obj).(type) {
	case *unstructured.Unstructured:
		gvk := obj.GroupVersionKind()
		if v := c.resource.versions[gvk.Version]; v != nil && gvk.GroupKind() == c.resource.kind {
			v.complete(obj.Object)
		}
	case *unstructured.UnstructuredList:
		for i := range obj.Items {
			c.complete(&obj.Items[i])
		}
	}
}

// managerConvertor is the convertor of the field managers. An object that has the wanted
// version already is returned itself, and not a copy: a field manager only reads it, or it
// is a copy that applyTypes made.
type managerConvertor struct{ convertor }

// ConvertToVersion implements runtime.ObjectConvertor.
func (c managerConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if hasVersion(in, target) {
		return in, nil
	}
	return c.convertor.ConvertToVersion(in, target)
}

func hasVersion(obj runtime.Object, target runtime.GroupVersioner) bool {
	gvk := obj.GetObjectKind().GroupVersionKind()
	want, ok := target.KindForGroupVersionKinds([]runtimeKind{gvk})
	return ok && want == gvk
}

// unsafeConvertor is a convertor that may change its input.
type unsafeConvertor struct{ convertor }

// ConvertToVersion implements runtime.ObjectConvertor. An object that has the wanted
// version already is returned unchanged.
func (c unsafeConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	if hasVersion(in, target) {
		return in, nil
	}
	return c.convert(c.unsafe, in, target)
}
