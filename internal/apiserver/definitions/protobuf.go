package definitions

import (
	"bytes"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"holdfast.dev/holdfast/internal/nesting"
)

// newProtobufDecoder decodes definitions in protobuf, which upstream's Go client
// sends, into upstream's types. The server answers in JSON, because the protobuf messages
// have no fields for our keywords. Such clients accept JSON too.
func newProtobufDecoder() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return serializer.NewSerializer(scheme, scheme), nil
}

// toJSON translates a definition from protobuf to JSON.
func toJSON(protobuf runtime.Decoder, data []byte) ([]byte, error) {
	// The decoder calls itself for every level of a schema, without a limit. If the stack of a
	// goroutine becomes too large, the whole process ends.
	if nestedDeeper(bytes.TrimPrefix(data, []byte("k8s\x00")), maxMessageLevels) {
		return nil, apierrors.NewBadRequest(nesting.Error{What: "the definition"}.Error())
	}
	obj, gvk, err := protobuf.Decode(data, nil, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is not a definition in protobuf: %v", err))
	}
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	if data, err = json.Marshal(obj); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the definition cannot be written as JSON: %v", err))
	}
	return data, nil
}
