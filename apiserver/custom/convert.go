package custom

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// convertor converts objects between the versions of a resource. It prunes and
// completes each converted object, like one that is read from storage.
type convertor struct {
	// safe copies its input, unsafe may change it.
	safe, unsafe runtime.ObjectConvertor
	resource     *resource
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
	return convertor{safe: safe, unsafe: unsafe, resource: r}, err
}

// Convert implements runtime.ObjectConvertor.
func (c convertor) Convert(in, out, context any) error {
	if err := c.safe.Convert(in, out, context); err != nil {
		return err
	}
	if obj, ok := out.(runtime.Object); ok {
		c.complete(obj)
	}
	return nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c convertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	out, err := c.safe.ConvertToVersion(in, target)
	if err == nil {
		c.complete(out)
	}
	return out, err
}

// ConvertFieldLabel implements runtime.ObjectConvertor.
func (c convertor) ConvertFieldLabel(gvk runtimeKind, label, value string) (string, string, error) {
	return c.safe.ConvertFieldLabel(gvk, label, value)
}

func (c convertor) complete(obj runtime.Object) {
	switch obj := obj.(type) {
	case *object:
		gvk := obj.GroupVersionKind()
		if v := c.resource.versions[gvk.Version]; v != nil && gvk.GroupKind() == c.resource.kind {
			v.complete(obj.Object)
		}
	case *objectList:
		for i := range obj.Items {
			c.complete(&obj.Items[i])
		}
	}
}

// unsafeConvertor is a convertor that may change its input.
type unsafeConvertor struct{ convertor }

// ConvertToVersion implements runtime.ObjectConvertor. An object that has the wanted
// version already is returned unchanged.
func (c unsafeConvertor) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	gvk := in.GetObjectKind().GroupVersionKind()
	if want, ok := target.KindForGroupVersionKinds([]runtimeKind{gvk}); ok && want == gvk {
		return in, nil
	}
	out, err := c.unsafe.ConvertToVersion(in, target)
	if err == nil {
		c.complete(out)
	}
	return out, err
}
