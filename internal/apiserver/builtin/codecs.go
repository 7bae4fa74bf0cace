package builtin

import (
	"errors"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
	"holdfast.dev/holdfast/internal/nesting"
)

// Codecs decode and encode objects of built-in kinds. They find the kind of an object in JSON in less time than the library needs. They
// refuse an object in protobuf if JSON inside of it has too many levels. Bodies in text are checked before they are decoded.
type Codecs struct {
	serializer.CodecFactory
	// json are the quick decoders for the decoders of JSON.
	json []quickJSON
}

// NewCodecs returns the codecs of the kinds of a scheme, based on those of the library.
func NewCodecs(scheme *runtime.Scheme, codecs serializer.CodecFactory) Codecs {
	c := Codecs{CodecFactory: codecs}
	if info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON); ok {
		c.json = []quickJSON{
			newQuickJSON(scheme, info.Serializer, json.SerializerOptions{}),
			newQuickJSON(scheme, info.StrictSerializer, json.SerializerOptions{Strict: true}),
		}
	}
	return c
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (c Codecs) DecoderToVersion(from runtime.Decoder, gv runtime.GroupVersioner) runtime.Decoder {
	for _, quick := range c.json {
		if quick.Decoder == from {
			return secretDecoder{c.CodecFactory.DecoderToVersion(quick, gv)}
		}
	}
	decoder := c.CodecFactory.DecoderToVersion(from, gv)
	if _, isText := from.(interface{ IsStrict() bool }); isText {
		return secretDecoder{decoder}
	}
	return boundedDecoder{decoder}
}

// quickJSON decodes objects in JSON. The library decodes a text twice, first for the kind of the object. quickJSON searches the kind in the
// text instead. If it does not find the kind, or if the text has an error, Decoder decodes the text, and has the error messages.
type quickJSON struct {
	runtime.Decoder
	quick *json.Serializer
}

func newQuickJSON(scheme *runtime.Scheme, decoder runtime.Decoder, options json.SerializerOptions) quickJSON {
	return quickJSON{decoder, json.NewSerializerWithOptions(foundKind{}, scheme, scheme, options)}
}

// Decode implements runtime.Decoder.
func (q quickJSON) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if obj, gvk, err := q.quick.Decode(data, defaults, into); err == nil || runtime.IsStrictDecodingError(err) {
		return obj, gvk, err
	}
	return q.Decoder.Decode(data, defaults, into)
}

// foundKind is the json.MetaFactory of quickJSON.
type foundKind struct{}

// Interpret implements json.MetaFactory.
func (foundKind) Interpret(data []byte) (*schema.GroupVersionKind, error) {
	if gvk, ok := requestbody.Kind(data); ok {
		return &gvk, nil
	}
	return json.DefaultMetaFactory.Interpret(data)
}

// secretDecoder decodes objects from a text. Its errors about a Secret do not show the text.
type secretDecoder struct{ runtime.Decoder }

// quoted matches the parts of the text in errors about JSON and YAML.
var quoted = regexp.MustCompile(`'[^']*'`)

// Decode implements runtime.Decoder.
func (d secretDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if err != nil && gvk == nil && defaults != nil && *defaults == corev1.SchemeGroupVersion.WithKind("Secret") {
		// Without a kind, the handlers of the library would show the beginning of the text.
		return obj, defaults, errors.New(quoted.ReplaceAllString(err.Error(), "'...'"))
	}
	return obj, gvk, err
}

type boundedDecoder struct{ runtime.Decoder }

// Decode implements runtime.Decoder.
func (d boundedDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := d.Decoder.Decode(data, defaults, into)
	if err == nil && requestbody.Levels(obj) > nesting.Limit {
		return nil, gvk, nesting.Error{What: "the object"}
	}
	return obj, gvk, err
}
