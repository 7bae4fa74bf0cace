package definitions

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/v1beta1"
)

// Codecs are the codecs of definitions. They do not support protobuf, because the Go types
// of definitions have no protobuf encoding. They treat unknown keywords of schemas as
// unknown fields.
type Codecs struct{ serializer.CodecFactory }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c Codecs) SupportedMediaTypes() []runtime.SerializerInfo {
	var text []runtime.SerializerInfo
	for _, info := range c.CodecFactory.SupportedMediaTypes() {
		if info.EncodesAsText {
			text = append(text, info)
		}
	}
	return text
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (c Codecs) DecoderToVersion(serializer runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	text, ok := serializer.(*json.Serializer)
	return decoder{
		Decoder: c.CodecFactory.DecoderToVersion(serializer, gv),
		strict:  ok && text.IsStrict(),
	}
}

// decoder drops the keys of schemas that are not keywords. A strict decoder reports them as
// unknown fields.
type decoder struct {
	runtime.Decoder
	strict bool
}

// Decode implements runtime.Decoder.
func (d decoder) Decode(
	data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if !ok {
		return obj, gvk, err
	}
	var found []error
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return obj, gvk, err
		}
		found = strict.Errors()
	}
	for _, path := range definition.DropUnknown(crd) {
		found = append(found, errors.New(definition.UnknownField(path)))
	}
	if d.strict && len(found) > 0 {
		return obj, gvk, runtime.NewStrictDecodingError(found)
	}
	return obj, gvk, nil
}

// AddToScheme registers definitions in both API versions.
func AddToScheme(scheme *runtime.Scheme) error {
	if err := definition.AddToScheme(scheme); err != nil {
		return err
	}
	return v1beta1.AddToScheme(scheme)
}
