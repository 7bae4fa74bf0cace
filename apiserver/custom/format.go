package custom

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// format decodes and encodes custom resources, for clients and for storage.
type format interface {
	// Decode reads one object; what it returns shares no memory with data.
	Decode(data []byte) (map[string]any, error)
	// DecodeStrict is Decode, and says which keys come twice.
	DecodeStrict(data []byte) (obj map[string]any, twice []error, err error)
	// Encode writes one object.
	Encode(w io.Writer, obj map[string]any) error
}

// formatted is a serializer whose custom resources go through the format. What
// else there is, options and lists and tables, is left to upstream.
type formatted struct {
	*json.Serializer
	format format
}

// Decode implements runtime.Decoder. What cannot be read is refused in
// upstream's words.
func (f formatted) Decode(data []byte, defaults *runtimeKind, into runtime.Object) (runtime.Object, *runtimeKind, error) {
	obj, ok := into.(*object)
	if !ok {
		return f.Serializer.Decode(data, defaults, into)
	}
	var read map[string]any
	var twice []error
	var err error
	if f.IsStrict() {
		read, twice, err = f.format.DecodeStrict(data)
	} else {
		read, err = f.format.Decode(data)
	}
	kind, isText := read["kind"].(string)
	if _, ok := read["apiVersion"].(string); err != nil || kind == "" || !isText || !ok {
		return f.Serializer.Decode(data, defaults, into)
	}
	obj.Object = read
	gvk := obj.GroupVersionKind()
	if len(twice) > 0 {
		return obj, &gvk, runtime.NewStrictDecodingError(twice)
	}
	return obj, &gvk, nil
}

// Encode implements runtime.Encoder.
func (f formatted) Encode(obj runtime.Object, w io.Writer) error {
	if cached, ok := obj.(runtime.CacheableObject); ok {
		return cached.CacheEncode(f.Identifier(), f.encode, w)
	}
	return f.encode(obj, w)
}

func (f formatted) encode(obj runtime.Object, w io.Writer) error {
	if u, ok := obj.(*object); ok {
		return f.format.Encode(w, u.Object)
	}
	return f.Serializer.Encode(obj, w)
}
