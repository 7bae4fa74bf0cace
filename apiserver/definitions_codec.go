package apiserver

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"holdfast.dev/holdfast/definition"
	"holdfast.dev/holdfast/definition/v1beta1"
)

// definitionCodecs are the codecs of definitions: no protobuf, which their Go
// types do not have, and unknown keywords of schemas count as unknown fields.
type definitionCodecs struct{ serializer.CodecFactory }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c definitionCodecs) SupportedMediaTypes() []runtime.SerializerInfo {
	var text []runtime.SerializerInfo
	for _, info := range c.CodecFactory.SupportedMediaTypes() {
		if info.EncodesAsText {
			text = append(text, info)
		}
	}
	return text
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (c definitionCodecs) DecoderToVersion(decoder runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	text, ok := decoder.(*json.Serializer)
	return definitionDecoder{
		Decoder: c.CodecFactory.DecoderToVersion(decoder, gv),
		strict:  ok && text.IsStrict(),
	}
}

// definitionDecoder drops the keys of schemas that are no keywords, and reports
// them where unknown fields are reported.
type definitionDecoder struct {
	runtime.Decoder
	strict bool
}

// Decode implements runtime.Decoder.
func (d definitionDecoder) Decode(data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
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
		found = append(found, fmt.Errorf("unknown field %q", path))
	}
	if d.strict && len(found) > 0 {
		return obj, gvk, runtime.NewStrictDecodingError(found)
	}
	return obj, gvk, nil
}

// addDefinitions makes a scheme know definitions in both API versions.
func addDefinitions(scheme *runtime.Scheme) error {
	if err := definition.AddToScheme(scheme); err != nil {
		return err
	}
	return v1beta1.AddToScheme(scheme)
}
