package definitions

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/nesting"
)

// Filter prepares requests that carry definitions before the handlers of the library,
// k8s.io/apiserver, read them. It translates protobuf to JSON, and it checks an applied
// definition for unknown fields if the request asks for that.
type Filter struct {
	codecs            serializer.CodecFactory
	protobuf, applied runtime.Decoder
}

// NewFilter returns a filter. The codecs are those of the server.
func NewFilter(codecs serializer.CodecFactory) (*Filter, error) {
	protobuf, err := newProtobufDecoder()
	if err != nil {
		return nil, err
	}
	internal := schema.GroupVersion{Group: definition.GroupName, Version: runtime.APIVersionInternal}
	return &Filter{codecs: codecs, protobuf: protobuf, applied: codecs.UniversalDecoder(internal)}, nil
}

// Wrap puts the filter around a handler. Bodies are limited to maxBody bytes; zero
// means no limit.
func (f *Filter) Wrap(next http.Handler, maxBody int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if ok && info.APIGroup == definition.GroupName {
			if err := f.prepare(req, info.Verb, maxBody); err != nil {
				gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
				responsewriters.ErrorNegotiated(err, f.codecs, gv, w, req)
				return
			}
		}
		next.ServeHTTP(w, req)
	})
}

// prepare reads the body of a request and puts it back, unchanged or as JSON.
func (f *Filter) prepare(req *http.Request, verb string, limit int64) error {
	mediaType := requestbody.MediaType(req)
	isProtobuf := mediaType == runtime.ContentTypeProtobuf && (verb == "create" || verb == "update")
	isStrictApply := mediaType == string(types.ApplyYAMLPatchType) &&
		req.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict
	if !isProtobuf && !isStrictApply {
		return nil
	}
	body, err := requestbody.Read(req, limit)
	switch {
	case errors.As(err, new(apierrors.APIStatus)):
		return err
	case err != nil:
		return apierrors.NewBadRequest(fmt.Sprintf("read the body: %v", err))
	}
	if isProtobuf {
		if body, err = toJSON(f.protobuf, body); err != nil {
			return err
		}
		if err := nesting.JSON(body); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		req.Header.Set("Content-Type", runtime.ContentTypeJSON)
	} else if err := f.checkApplied(body); err != nil {
		return err
	}
	requestbody.Replace(req, body)
	return nil
}

// checkApplied refuses an applied definition if its schemas have keys that are not
// keywords. The library finds all other unknown fields.
func (f *Filter) checkApplied(body []byte) error {
	data, err := yaml.YAMLToJSON(body)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	obj, _, err := f.applied.Decode(data, nil, nil)
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if err != nil || !ok {
		// The library decodes the body again and reports the error.
		return nil //nolint:nilerr // see above
	}
	var unknown []string
	for _, path := range definition.DropUnknown(crd) {
		unknown = append(unknown, definition.UnknownField(path))
	}
	if len(unknown) > 0 {
		return apierrors.NewBadRequest("error strict decoding patch: strict decoding error: " + strings.Join(unknown, ", "))
	}
	return nil
}
