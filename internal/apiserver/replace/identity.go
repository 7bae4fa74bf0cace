package replace

import (
	"bytes"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

// identity names the object that a request replaces, and its state.
type identity struct {
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// readIdentity reads it from the body of a request, which the handlers read again.
func readIdentity(req *http.Request, maxBody int64) (identity, error) {
	body, err := requestbody.Peek(req, maxBody)
	if err != nil {
		return identity{}, err
	}
	mediaType := requestbody.MediaType(req)
	switch mediaType {
	case "", runtime.ContentTypeJSON, runtime.ContentTypeYAML:
		if mediaType == runtime.ContentTypeYAML {
			if body, err = yaml.YAMLToJSON(body); err != nil {
				return identity{}, unreadable(err)
			}
		}
		var object struct {
			Metadata identity `json:"metadata"`
		}
		if err := json.Unmarshal(body, &object); err != nil {
			return identity{}, unreadable(err)
		}
		return object.Metadata, nil
	case runtime.ContentTypeProtobuf:
		return ofMessage(body)
	}
	return identity{}, apierrors.NewBadRequest(fmt.Sprintf("a replacement has a body of the media type %s, %s or %s, not %q",
		runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf, mediaType))
}

func unreadable(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the body of the replacement cannot be read: %v", err))
}

// protobufPrefix begins each object in protobuf.
var protobufPrefix = []byte("k8s\x00")

// ofMessage is readIdentity for protobuf, in which the metadata of each kind is field 1.
func ofMessage(body []byte) (identity, error) {
	message, ok := bytes.CutPrefix(body, protobufPrefix)
	if !ok {
		return identity{}, unreadable(fmt.Errorf("it is not protobuf"))
	}
	var unknown runtime.Unknown
	var object metav1.PartialObjectMetadata
	if err := unknown.Unmarshal(message); err != nil {
		return identity{}, unreadable(err)
	}
	if err := object.Unmarshal(unknown.Raw); err != nil {
		return identity{}, unreadable(err)
	}
	return identity{Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion}, nil
}

// check returns an error if the identity is not complete, or is not that of the object in the URL.
func (i identity) check(info *genericapirequest.RequestInfo) error {
	if i.Name != info.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", i.Name, info.Name))
	}
	for _, field := range []struct{ path, value string }{{"metadata.uid", string(i.UID)}, {"metadata.resourceVersion", i.ResourceVersion}} {
		if field.value == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("%s is required: a replacement names the object that it deletes, and its state", field.path))
		}
	}
	return nil
}
