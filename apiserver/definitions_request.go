package apiserver

import (
	"bytes"
	"fmt"
	"io"
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
	genericapiserver "k8s.io/apiserver/pkg/server"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/definition"
)

// applyDefinitionRequests has a look at requests that carry definitions, before
// the library reads them: protobuf becomes JSON, and an applied definition is
// held to the field validation that the request asks for.
func applyDefinitionRequests(config *genericapiserver.Config, codecs serializer.CodecFactory) error {
	protobuf, err := newDefinitionProtobuf()
	if err != nil {
		return err
	}
	reader := definitionRequests{protobuf: protobuf, applied: codecs.UniversalDecoder(schema.GroupVersion{Group: definition.GroupName, Version: runtime.APIVersionInternal})}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(next http.Handler, c *genericapiserver.Config) http.Handler {
		return build(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			info, ok := genericapirequest.RequestInfoFrom(req.Context())
			if ok && info.APIGroup == definition.GroupName {
				if err := reader.read(req, info.Verb, c.MaxRequestBodyBytes); err != nil {
					gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
					responsewriters.ErrorNegotiated(err, codecs, gv, w, req)
					return
				}
			}
			next.ServeHTTP(w, req)
		}), c)
	}
	return nil
}

type definitionRequests struct{ protobuf, applied runtime.Decoder }

// read looks at the body of a request and puts it back, as it was or as JSON.
func (d definitionRequests) read(req *http.Request, verb string, limit int64) error {
	mediaType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	mediaType = strings.TrimSpace(mediaType)
	isProtobuf := mediaType == runtime.ContentTypeProtobuf && (verb == "create" || verb == "update")
	isStrictApply := mediaType == string(types.ApplyYAMLPatchType) && req.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict
	if !isProtobuf && !isStrictApply {
		return nil
	}
	body, err := readAtMost(req.Body, limit)
	if err != nil {
		return err
	}
	if isProtobuf {
		if body, err = definitionJSON(d.protobuf, body); err != nil {
			return err
		}
		req.Header.Set("Content-Type", runtime.ContentTypeJSON)
	} else if err := d.checkApplied(body); err != nil {
		return err
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// checkApplied refuses an applied definition with keys in its schemas that are
// no keywords; the library finds all other unknown fields.
func (d definitionRequests) checkApplied(body []byte) error {
	data, err := yaml.YAMLToJSON(body)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	obj, _, err := d.applied.Decode(data, nil, nil)
	crd, ok := obj.(*definition.CustomResourceDefinition)
	if err != nil || !ok {
		// The library reads it again and says what is wrong.
		return nil //nolint:nilerr // see above
	}
	var unknown []string
	for _, path := range definition.DropUnknown(crd) {
		unknown = append(unknown, fmt.Sprintf("unknown field %q", path))
	}
	if len(unknown) > 0 {
		return apierrors.NewBadRequest("error strict decoding patch: strict decoding error: " + strings.Join(unknown, ", "))
	}
	return nil
}

// readAtMost reads a body; a limit of 0 is none.
func readAtMost(body io.Reader, limit int64) ([]byte, error) {
	if limit > 0 {
		body = io.LimitReader(body, limit+1)
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("read the body: %v", err))
	}
	if limit > 0 && int64(len(data)) > limit {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	}
	return data, nil
}
