package envelope

import (
	"bytes"
	"encoding/binary"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// prefix begins all stored objects in protobuf.
	prefix = "k8s\x00"
	// rawTag is the tag of the bytes of the object in the message of the envelope.
	rawTag = "\x12"
	// end is what follows these bytes: an empty content encoding and an empty content type.
	end = "\x1a\x00\x22\x00"
)

// codec is the quick form.
type codec struct {
	runtime.Codec
	scheme *runtime.Scheme
	kind   schema.GroupVersionKind
	// internal is the version to which a codec of the storage decodes.
	internal schema.GroupVersion
	// object is the Go type of the objects.
	object reflect.Type
	// begin is the envelope up to the length of the bytes of the object.
	begin []byte
}

// message is an object with generated functions for protobuf.
type message interface {
	runtime.Object
	Reset()
	Unmarshal(data []byte) error
}

// newCodec returns the quick form of a codec. It returns the codec itself if the objects of the kind have no quick form.
func newCodec(plain runtime.Codec, scheme *runtime.Scheme, kind schema.GroupVersionKind) runtime.Codec {
	example, err := scheme.New(kind)
	if err != nil {
		return plain
	}
	_, isMessage := example.(message)
	_, isNested := example.(runtime.NestedObjectDecoder)
	_, allocates := plain.(runtime.EncoderWithAllocator)
	apiVersion, kindName := kind.ToAPIVersionAndKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kindName}}
	envelope, err := unknown.Marshal()
	begin, regular := bytes.CutSuffix(envelope, []byte(end))
	if err != nil || !regular || !isMessage || isNested || !allocates {
		return plain
	}
	return &codec{
		Codec: plain, scheme: scheme, kind: kind, object: reflect.TypeOf(example).Elem(), begin: []byte(prefix + string(begin) + rawTag),
		internal: schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal},
	}
}

// Encode implements runtime.Encoder. The library encodes the object into memory that is used again.
func (c *codec) Encode(obj runtime.Object, w io.Writer) error {
	memory, ok := runtime.AllocatorPool.Get().(*runtime.Allocator)
	if !ok {
		return c.Codec.Encode(obj, w)
	}
	defer runtime.AllocatorPool.Put(memory)
	return c.Codec.(runtime.EncoderWithAllocator).EncodeWithAllocator(obj, w, memory)
}

// Decode implements runtime.Decoder.
func (c *codec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if defaults == nil {
		if obj := c.quick(data, into); obj != nil {
			kind := c.kind
			if into != nil {
				return obj, &kind, nil
			}
			out, err := c.scheme.UnsafeConvertToVersion(obj, c.internal)
			if err != nil {
				return nil, &kind, err
			}
			return out, &kind, nil
		}
	}
	return c.Codec.Decode(data, defaults, into)
}

// quick decodes an object in a regular envelope, into an object of its Go type or into a new one. It returns nil for everything else.
func (c *codec) quick(data []byte, into runtime.Object) runtime.Object {
	raw, ok := c.open(data)
	if !ok {
		return nil
	}
	var obj message
	if into == nil {
		obj = reflect.New(c.object).Interface().(message)
	} else if obj, ok = into.(message); !ok || reflect.TypeOf(into) != reflect.PointerTo(c.object) {
		return nil
	}
	obj.Reset()
	if obj.Unmarshal(raw) != nil {
		return nil
	}
	obj.GetObjectKind().SetGroupVersionKind(c.kind)
	c.scheme.Default(obj)
	return obj
}

// open returns the bytes of the object in a regular envelope.
func (c *codec) open(data []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(data, c.begin)
	if !ok {
		return nil, false
	}
	length, read := binary.Uvarint(rest)
	if read <= 0 || length > uint64(len(rest)) {
		return nil, false
	}
	rest = rest[read:]
	if uint64(len(rest)) != length+uint64(len(end)) || string(rest[length:]) != end {
		return nil, false
	}
	return rest[:length], true
}
