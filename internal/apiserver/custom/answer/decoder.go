package answer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// requestDecoder prunes and completes the objects that clients send. If it is strict, it
// returns an error for the unknown fields.
type requestDecoder struct {
	version  *kind.Version
	delegate runtime.Decoder
	strict   bool
}

// Decode implements runtime.Decoder.
func (d requestDecoder) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.delegate.Decode(data, defaults, into)
	u, ok := obj.(*object.Object)
	if !ok {
		return obj, gvk, err
	}
	var found []error
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return nil, gvk, err
		}
		found = strict.Errors()
	}
	unknown, err := d.version.Receive(u)
	if err != nil {
		return nil, gvk, err
	}
	for _, path := range unknown {
		found = append(found, fmt.Errorf("unknown field %q", path))
	}
	if d.strict && len(found) > 0 {
		return obj, gvk, runtime.NewStrictDecodingError(found)
	}
	return obj, gvk, nil
}
