package apiserver

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// newDefinitionProtobuf reads definitions in protobuf, which upstream's Go client
// sends, as upstream's types. Answers are JSON, which such clients take as well:
// protobuf has no place for our keywords.
func newDefinitionProtobuf() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return protobuf.NewSerializer(scheme, scheme), nil
}

// definitionJSON is a definition in protobuf as JSON.
func definitionJSON(reader runtime.Decoder, data []byte) ([]byte, error) {
	obj, gvk, err := reader.Decode(data, nil, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is no protobuf of a definition: %v", err))
	}
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	if data, err = json.Marshal(obj); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the definition cannot be written as JSON: %v", err))
	}
	return data, nil
}
