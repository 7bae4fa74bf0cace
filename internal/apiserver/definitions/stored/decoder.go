package stored

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/definition"
)

// smallest is the number of bytes from which on the schemas of a definition are worth to be cut out.
const smallest = 512

// decoder is the quick form.
type decoder struct{ library runtime.Decoder }

// Decode implements runtime.Decoder.
func (d decoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	crd, isDefinition := into.(*definition.CustomResourceDefinition)
	if into == nil || isDefinition {
		if obj, gvk, ok := d.quick(data, defaults, into); ok {
			return obj, gvk, nil
		}
		if isDefinition {
			*crd = definition.CustomResourceDefinition{} // it may have parts of the text
		}
	}
	return d.library.Decode(data, defaults, into)
}

// quick decodes a text with its schemas cut out. It returns false if the library has to decode the text.
func (d decoder) quick(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, bool) {
	schemas, ok := findSchemas(data)
	size := 0
	for _, s := range schemas {
		size += s.end - s.start
	}
	if !ok || size < smallest {
		return nil, nil, false
	}
	obj, gvk, err := d.library.Decode(without(schemas, data, size), defaults, into)
	crd, isDefinition := obj.(*definition.CustomResourceDefinition)
	if err != nil || !isDefinition || gvk == nil || gvk.Version != definition.V1 {
		return nil, nil, false
	}
	for _, s := range schemas {
		if s.version >= len(crd.Spec.Versions) || crd.Spec.Versions[s.version].Schema == nil {
			return nil, nil, false
		}
		crd.Spec.Versions[s.version].Schema.OpenAPIV3Schema = bytes.Clone(data[s.start:s.end])
	}
	return obj, gvk, true
}

// without returns a text with null in the place of each schema, all of which have a number of bytes.
func without(schemas []place, data []byte, size int) []byte {
	out := make([]byte, 0, len(data)-size+len(schemas)*len("null"))
	at := 0
	for _, s := range schemas {
		out = append(append(out, data[at:s.start]...), "null"...)
		at = s.end
	}
	return append(out, data[at:]...)
}
