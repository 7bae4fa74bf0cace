package answer

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"holdfast.dev/holdfast/internal/apiserver/custom/fieldset"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
	"holdfast.dev/holdfast/internal/apiserver/custom/text"
)

// formatSerializer decodes and encodes custom resources with a format. All other
// objects, such as options, lists and tables, go through the serializer of Kubernetes.
type formatSerializer struct {
	*json.Serializer
	format text.Format
	sets   *fieldset.Sets
}

// Decode implements runtime.Decoder. Data that the format cannot decode goes through
// the serializer of Kubernetes as well, so that the client gets its error message.
func (f formatSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, ok := into.(*object.Object)
	if !ok {
		return f.Serializer.Decode(data, defaults, into)
	}
	var read map[string]any
	var duplicates []error
	var err error
	if f.IsStrict() {
		read, duplicates, err = f.format.DecodeStrict(data)
	} else {
		read, err = f.format.Decode(data)
	}
	kind, isText := read["kind"].(string)
	if _, ok := read["apiVersion"].(string); err != nil || kind == "" || !isText || !ok {
		return f.Serializer.Decode(data, defaults, into)
	}
	obj.Object, obj.Sets = read, f.sets
	gvk := obj.GroupVersionKind()
	if len(duplicates) > 0 {
		return obj, &gvk, runtime.NewStrictDecodingError(duplicates)
	}
	return obj, &gvk, nil
}

// Encode implements runtime.Encoder.
func (f formatSerializer) Encode(obj runtime.Object, w io.Writer) error {
	if cached, ok := obj.(runtime.CacheableObject); ok {
		return cached.CacheEncode(f.Identifier(), f.encode, w)
	}
	return f.encode(obj, w)
}

func (f formatSerializer) encode(obj runtime.Object, w io.Writer) error {
	if u, ok := obj.(*object.Object); ok {
		return f.format.Encode(w, u.Object)
	}
	return f.Serializer.Encode(obj, w)
}
