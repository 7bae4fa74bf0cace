package custom

import (
	"fmt"
	"net/http"

	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
)

type runtimeKind = schema.GroupVersionKind

// typer returns the kinds of custom resources and of the options in requests.
type typer struct {
	options runtime.ObjectTyper
	objects runtime.ObjectTyper
}

func newTyper(options runtime.ObjectTyper) typer {
	return typer{options: options, objects: crdserverscheme.NewUnstructuredObjectTyper()}
}

// ObjectKinds implements runtime.ObjectTyper.
func (t typer) ObjectKinds(obj runtime.Object) ([]runtimeKind, bool, error) {
	if _, ok := obj.(runtime.Unstructured); ok {
		return t.objects.ObjectKinds(obj)
	}
	return t.options.ObjectKinds(obj)
}

// Recognizes implements runtime.ObjectTyper.
func (t typer) Recognizes(gvk runtimeKind) bool {
	return t.options.Recognizes(gvk) || t.objects.Recognizes(gvk)
}

// creater creates empty objects of any kind.
type creater struct{}

// New implements runtime.ObjectCreater.
func (creater) New(gvk runtimeKind) (runtime.Object, error) {
	return newObject(gvk), nil
}

// defaulter completes the objects of a resource.
type defaulter struct{ convertor convertor }

// Default implements runtime.ObjectDefaulter.
func (d defaulter) Default(obj runtime.Object) { d.convertor.complete(obj) }

// requestSerializer decodes the requests for a version and encodes the answers.
type requestSerializer struct {
	version *version
	infos   []runtime.SerializerInfo
	// texts is the cache for the answers to GET, LIST and WATCH, nil for other requests.
	texts *texts
	// partial and header are those of the answerEncoder, for a LIST.
	partial *partial
	header  http.Header
}

func newRequestSerializer(v *version, typer runtime.ObjectTyper) requestSerializer {
	text := func(options json.SerializerOptions) *json.Serializer {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{}, typer, options)
	}
	direct := func(options json.SerializerOptions) formatSerializer {
		return formatSerializer{Serializer: text(options), format: v.resource.server.format, sets: v.resource.server.sets}
	}
	return requestSerializer{version: v, infos: []runtime.SerializerInfo{
		{
			MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
			Serializer:       direct(json.SerializerOptions{StreamingCollectionsEncoding: true}),
			PrettySerializer: text(json.SerializerOptions{Pretty: true}),
			StrictSerializer: direct(json.SerializerOptions{Strict: true, StreamingCollectionsEncoding: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{
				EncodesAsText: true, Serializer: text(json.SerializerOptions{}), Framer: json.Framer,
			},
		},
		{
			MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml", EncodesAsText: true,
			Serializer:       text(json.SerializerOptions{Yaml: true}),
			StrictSerializer: text(json.SerializerOptions{Yaml: true, Strict: true}),
		},
		{
			// Only tables and metadata can be encoded as protobuf.
			MediaType: runtime.ContentTypeProtobuf, MediaTypeType: "application", MediaTypeSubType: "vnd.kubernetes.protobuf",
			Serializer: protobuf.NewSerializerWithOptions(creater{}, typer, protobuf.SerializerOptions{StreamingCollectionsEncoding: true}),
			StreamSerializer: &runtime.StreamSerializerInfo{
				Serializer: protobuf.NewRawSerializer(creater{}, typer), Framer: protobuf.LengthDelimitedFramer,
			},
		},
	}}
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s requestSerializer) SupportedMediaTypes() []runtime.SerializerInfo { return s.infos }

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s requestSerializer) EncoderForVersion(encoder runtime.Encoder, gv runtime.GroupVersioner) runtime.Encoder {
	server := s.version.resource.server
	converting := versioning.NewCodec(encoder, nil, s.version.resource.convertor, server.scheme, server.scheme, server.scheme, gv, nil,
		"custom-"+s.version.groupVersion().String())
	if _, ok := encoder.(formatSerializer); !ok {
		return converting
	}
	return answerEncoder{
		converting: converting, version: s.version, format: server.format, buffers: &server.buffers,
		texts: s.texts, partial: s.partial, header: s.header, compressors: server.compressors,
	}
}

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s requestSerializer) DecoderToVersion(decoder runtime.Decoder, _ runtime.GroupVersioner) runtime.Decoder {
	text, ok := decoder.(interface{ IsStrict() bool })
	return requestDecoder{version: s.version, delegate: decoder, strict: ok && text.IsStrict()}
}

// requestDecoder prunes and completes the objects that clients send. If it is strict, it
// returns an error for the unknown fields.
type requestDecoder struct {
	version  *version
	delegate runtime.Decoder
	strict   bool
}

// Decode implements runtime.Decoder.
func (d requestDecoder) Decode(data []byte, defaults *runtimeKind, into runtime.Object) (runtime.Object, *runtimeKind, error) {
	obj, gvk, err := d.delegate.Decode(data, defaults, into)
	u, ok := obj.(*object)
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
	unknown, err := d.version.receive(u)
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
