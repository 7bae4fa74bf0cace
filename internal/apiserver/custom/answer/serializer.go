package answer

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	"k8s.io/apiserver/pkg/endpoints/handlers"

	"holdfast.dev/holdfast/internal/apiserver/custom/kind"
	"holdfast.dev/holdfast/internal/apiserver/custom/object"
)

// Serializer decodes the requests for a version and encodes the answers. It implements runtime.NegotiatedSerializer.
type Serializer struct {
	version *kind.Version
	shared  *Shared
	infos   []runtime.SerializerInfo
}

var _ runtime.NegotiatedSerializer = Serializer{}

// NewSerializer returns the serializer of a version. The caller has compiled the kind for reads. typer knows the kinds of custom
// resources and of the options in requests.
func NewSerializer(v *kind.Version, typer runtime.ObjectTyper, shared *Shared) Serializer {
	library := func(options json.SerializerOptions) *json.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, object.Creater{}, typer, options)
	}
	direct := func(options json.SerializerOptions) formatSerializer {
		return formatSerializer{Serializer: library(options), format: shared.format, sets: v.Sets()}
	}
	return Serializer{version: v, shared: shared, infos: []runtime.SerializerInfo{
		{
			MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
			Serializer:       direct(json.SerializerOptions{StreamingCollectionsEncoding: true}),
			PrettySerializer: library(json.SerializerOptions{Pretty: true}),
			StrictSerializer: direct(json.SerializerOptions{Strict: true, StreamingCollectionsEncoding: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{
				EncodesAsText: true, Serializer: library(json.SerializerOptions{}), Framer: json.Framer,
			},
		},
		{
			MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
			Serializer:       library(json.SerializerOptions{Yaml: true}),
			StrictSerializer: library(json.SerializerOptions{Yaml: true, Strict: true}),
		},
		{
			// Only tables and metadata can be encoded as protobuf.
			MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
			Serializer: protobuf.NewSerializerWithOptions(object.Creater{}, typer, protobuf.SerializerOptions{StreamingCollectionsEncoding: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{
				Serializer: protobuf.NewRawSerializer(object.Creater{}, typer), Framer: protobuf.LengthDelimitedFramer,
			},
		},
	}}
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s Serializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.infos }

// Standard returns the media types in which clients may send custom resources: JSON and YAML, but not protobuf.
func (s Serializer) Standard() []runtime.SerializerInfo { return s.infos[:2] }

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s Serializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	library := s.library(encoder, gv)
	if _, ok := encoder.(formatSerializer); !ok {
		return library
	}
	return s.shared.form.encoder(s.version, library)
}

// library returns the encoder of the library, which converts each answer.
func (s Serializer) library(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	scheme := s.shared.scheme
	return versioning.NewCodec(encoder, nil, s.version.Kind.Convertor, scheme, scheme, scheme, gv, nil,
		"custom-"+s.version.GroupVersion().String())
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s Serializer) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	json, ok := decoder.(interface{ IsStrict() bool })
	return requestDecoder{version: s.version, delegate: decoder, strict: ok && json.IsStrict()}
}

// NewReads returns the scopes for the reads of an endpoint. If the scope of the endpoint has another serializer than one of this
// package, the reads use that scope as it is.
func NewReads(endpoint *handlers.RequestScope) Reads {
	if serializer, ok := endpoint.Serializer.(Serializer); ok {
		return serializer.shared.form.reads(endpoint, serializer)
	}
	return plainReads{endpoint}
}
